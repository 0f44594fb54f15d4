"""Recordings of live runs: replayed, cut off by SIGKILL, and ended by a full disk."""

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import unittest

from harness import BINARY, DEADLINE_S, Stack, wait_until

MODE = """
local function mode(cores)
  return {cpu_cores = cores, cpu_mhz = knobs.cpu_mhz[15], gpu_mhz = knobs.gpu_mhz[3],
          mem_mhz = knobs.mem_mhz[3]}
end
"""
SEARCH = MODE + """
local best = measure(mode(8))
local other = measure(mode(4))
if other.power_w < best.power_w then log("fewer cores draw less") end
return best.setting
"""


def rows(path, question):
    with sqlite3.connect(path) as database:
        return database.execute(question).fetchall()


class Recordings(unittest.TestCase):
    def replay(self, stack, path, *more):
        done = stack.gearshift("replay", path, "--json", *more)
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def test_a_run_replays_exactly_and_beside_another_policy(self):
        with Stack() as stack:
            path = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(SEARCH), "--record", path)
            trainer = stack.trainer()
            daemon.note("hold")
            cap = stack.gearshift("cap", "22W", "--control", stack.control)
            self.assertEqual(cap.returncode, 0, cap.stderr)
            daemon.note("goal")
            daemon.note("status")
            trainer.finish(signal.SIGTERM)
            daemon.note("detached")
            self.assertEqual(daemon.finish(signal.SIGINT), 0)

            self.assertEqual(os.listdir(stack.folder).count("run.db"), 1)
            self.assertFalse((stack.folder / "run.db-wal").exists())
            code, result = self.replay(stack, path)
            self.assertEqual((code, result["equal"], result["complete"]), (0, True, True))
            recorded = rows(path, "SELECT count(*) FROM notes")[0][0]
            spoken = [note for note in daemon.notes() if note["note"] not in ("status", "summary")]
            self.assertEqual(recorded, len(spoken))
            self.assertGreaterEqual(result["decisions"], recorded)

            other = stack.script(MODE + "measure(mode(1))\nreturn nil", "other.lua")
            code, result = self.replay(stack, path, "--policy", other)
            first = result["searches"][0]
            self.assertEqual(code, 0)
            self.assertEqual(first["cap_w"], 30)
            self.assertTrue(first["recorded"][0].startswith("measure cpu_cores=8 "))
            self.assertTrue(first["other"][0].startswith("measure cpu_cores=1 "))
            self.assertTrue(first["other_unanswered"])

            rows(path, "UPDATE observations SET power_mean_mw = power_mean_mw + 1")
            code, result = self.replay(stack, path)
            self.assertEqual((code, result["equal"]), (1, False))
            self.assertIn("power_mean_mw", result["difference"]["recorded"])
            self.assertNotEqual(
                result["difference"]["recorded"], result["difference"]["replayed"]
            )
            self.refuses_to_overwrite(stack, path)

    def refuses_to_overwrite(self, stack, path):
        before = path.read_bytes()
        again = stack.daemon(stack.script(SEARCH), "--record", path)
        self.assertEqual(again.finish(), 2)
        self.assertIn("--overwrite", again.tail())
        self.assertEqual(path.read_bytes(), before)

    def test_the_default_policy_takes_a_prior_table_and_replays_with_it(self):
        with Stack(noise="0%") as stack:
            prior = stack.folder / "mobilenet.csv"
            keep = [
                "--keep", "cpu_cores=4,8,12", "--keep", "cpu_mhz=422.4,1190.4,2201.6",
                "--keep", "gpu_mhz=306,714,1300.5", "--keep", "mem_mhz=665.6,2133,3199",
            ]  # fmt: skip
            done = stack.gearshift(
                "simulate", "--board", "jetson-agx-orin", "--workload", "mobilenet_v3", *keep,
                "--policy", "full_sweep", "--record", stack.folder / "sweep.db",
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            done = stack.gearshift("export", stack.folder / "sweep.db", "--profile", "-o", prior)
            self.assertEqual(done.returncode, 0, done.stderr)

            path = stack.folder / "run.db"
            foreign = stack.folder / "foreign.csv"
            foreign.write_text(prior.read_text().replace("jetson-agx-orin,", "Jetson AGX Orin,"))
            daemon = stack.daemon("bayes", "--prior", prior, "--prior", foreign, "--record", path)
            trainer = stack.trainer("--jitter", "0%")
            hold = daemon.note("hold", deadline_s=120)
            told = "\n".join(daemon.lines)
            self.assertIn(f"--prior {foreign}: no table of jetson-agx-orin", told)
            self.assertNotIn(f"--prior {prior}: no table", told)
            self.assertEqual(daemon.finish(signal.SIGINT), 0)
            trainer.kill()
            chosen = [
                note for note in daemon.notes("observation") if note["setting"] == hold["setting"]
            ]
            self.assertLessEqual(chosen[-1]["power_w"], 30)
            self.assertLessEqual(len(daemon.notes("observation")), 16)
            code, result = self.replay(stack, path)
            self.assertEqual((code, result["equal"]), (0, True))

    def test_a_killed_run_loses_its_last_three_seconds_at_most_and_replays(self):
        with Stack() as stack:
            path = stack.folder / "run.db"
            daemon = stack.daemon(stack.script(SEARCH), "--record", path)
            stack.trainer()
            daemon.note("observation")
            for _ in range(4):
                daemon.note("status")
            last_s = daemon.note("status")["time_s"]
            again = stack.gearshift("simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--record", path, "--overwrite")  # fmt: skip
            self.assertEqual(again.returncode, 2, again.stderr)
            self.assertIn(f"--record {path}: process {daemon.process.pid} has the file open", again.stderr)
            daemon.kill()
            alone = stack.folder / "alone.db"
            shutil.copy(path, alone)
            for words in (["replay", alone], ["export", alone, "--samples"], ["explain", alone]):
                done = stack.gearshift(*words)
                self.assertNotEqual(done.returncode, 0, words)
                self.assertIn(f"{alone}-wal, which is not beside it; copy both", done.stderr)
            times = rows(path, "SELECT min(time_ns), max(time_ns) FROM ticks")[0]
            self.assertGreater((times[1] - times[0]) / 1e9, last_s - 3)
            code, result = self.replay(stack, path)
            self.assertEqual((code, result["equal"], result["complete"]), (0, True, False))
            self.assertGreater(result["decisions"], 5)

    def test_the_recorded_command_runs_again_in_a_shell(self):
        with Stack(board=False) as stack:
            path = self.simulated(stack, "--json", "--log", stack.folder / "a log.json", "--fault", "reading_stuck@5s..6s", "--fault", "reading_missing@8s..9s")  # fmt: skip
            (command,) = rows(path, "SELECT value FROM metadata WHERE key = 'command'")[0]
            words = shlex.split(command)
            self.assertEqual(words[0], "gearshift")
            again = stack.gearshift(*words[1:], "--overwrite")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertGreater(len(json.loads(again.stdout)), 1)

    def test_a_log_of_tegrastats_keeps_its_dates_beside_a_line_without(self):
        with Stack(board=False) as stack:
            line, log = "RAM 331/3964MB CPU [10%@102]", stack.folder / "tegrastats.log"
            log.write_text(f"25 01:59:59 {line}\n11-02-2025 01:59:59 {line}\n11-02-2025 02:59:59 {line}\n")
            done = stack.gearshift("import-tegrastats", log)
            self.assertEqual(done.returncode, 0, done.stderr)
            times = [row.split(",")[0] for row in done.stdout.splitlines()]
            self.assertEqual(times, ["time_s", "", "0", "3600"])
            self.assertIn("1 of 3 samples without a date that can be read: time_s is empty", done.stderr)

    def test_a_log_of_tegrastats_of_another_board_is_refused_with_its_rails(self):
        with Stack(board=False) as stack:
            log = stack.folder / "tegrastats.log"
            log.write_text("RAM 331/3964MB CPU [10%@102] VDD_GPU_SOC 1000mW/1000mW VIN_SYS_5V0 900mW/900mW\n")
            done = stack.gearshift("import-tegrastats", log, "--board", "jetson-nano")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("the log has VDD_GPU_SOC, VIN_SYS_5V0", done.stderr)

    def test_who_locks_the_file_delays_its_last_rows_and_not_the_board(self):
        with Stack() as stack:
            path, knobs = stack.folder / "run.db", stack.knobs()
            daemon = stack.daemon(stack.script(SEARCH), "--record", path)
            stack.trainer()
            daemon.note("hold")
            self.assertNotEqual(stack.knobs(), knobs)
            other = sqlite3.connect(path, isolation_level=None, timeout=DEADLINE_S)
            other.execute("BEGIN IMMEDIATE")
            other.execute("CREATE VIEW answers AS SELECT * FROM readings")
            daemon.process.send_signal(signal.SIGINT)
            wait_until(lambda: stack.knobs() == knobs, "the board is not as it was")
            other.execute("COMMIT")
            other.close()
            self.assertEqual(daemon.finish(), 0)
            self.assertEqual(daemon.notes("recording_ended"), [])
            code, result = self.replay(stack, path)
            self.assertEqual((code, result["equal"], result["complete"]), (0, True, True))

    @unittest.skipIf(os.geteuid() != 0, "needs root, to mount a small disk")
    def test_a_full_disk_ends_the_recording_once_and_the_run_goes_on(self):
        with Stack() as stack:
            disk = stack.folder / "disk"
            disk.mkdir()
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
                capture_output=True, text=True, timeout=DEADLINE_S,
            )
            if mounted.returncode != 0:
                self.skipTest(f"no small disk: {mounted.stderr.strip()}")
            try:
                daemon = stack.daemon(stack.script(SEARCH), "--record", disk / "run.db")
                stack.trainer()
                daemon.note("attached")
                ended = daemon.note("recording_ended")
                self.assertIn("run.db", ended["text"])
                daemon.first("hold")
                daemon.note("status")
                self.assertEqual(daemon.finish(signal.SIGINT), 0)
                self.assertEqual(len(daemon.notes("recording_ended")), 1)
                # What it had until then is still a recording.
                for name in os.listdir(disk):
                    shutil.copy(disk / name, stack.folder / name)
                code, result = self.replay(stack, stack.folder / "run.db")
                self.assertEqual((code, result["equal"]), (0, True))
                self.assertGreater(result["ticks"], 0)
            finally:
                subprocess.run(["umount", disk], check=True, timeout=DEADLINE_S)

    def test_an_export_that_fails_leaves_the_file_of_before(self):
        with Stack(board=False) as stack:
            both, table = stack.folder / "both.db", stack.folder / "table.csv"
            done = stack.gearshift(
                "simulate", "--problem", "concurrent", "--board", "jetson-agx-orin", "--workload", "resnet18",
                "--infer-workload", "mobilenet_v3", "--rate", "60", "--latency", "500ms", "--power", "30W",
                "--record", both,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            table.write_text("of before")
            for recording, why in ((both, "two workloads at once"), (stack.folder / "none.db", "none.db")):
                done = stack.gearshift("export", recording, "--profile", "-o", table)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(why, done.stderr)
                self.assertEqual(table.read_text(), "of before")

    def test_a_recording_that_says_no_cost_is_told_so(self):
        with Stack(board=False) as stack:
            short, both = stack.folder / "short.db", stack.folder / "both.db"
            model = ["simulate", "--board", "jetson-agx-orin", "--workload", "resnet18"]
            pair = ["--problem", "concurrent", "--infer-workload", "mobilenet_v3", "--rate", "60", "--latency", "500ms"]
            for path, words in ((short, ["--duration", "100ms"]), (both, [*pair, "--power", "30W"])):
                done = stack.gearshift(*model, *words, "--record", path)
                self.assertEqual(done.returncode, 0, done.stderr)
            for path, why in ((short, "no setting was measured to its end"), (both, "of two workloads at once")):
                done = stack.gearshift("simulate", "--trace", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"--trace {path}: ", done.stderr)
                self.assertIn(why, done.stderr)

    def test_a_trace_is_simulated_with_the_words_of_its_export(self):
        with Stack(board=False) as stack:
            path = self.simulated(stack, "--fault", "throttle:0.7@120s", "--hold", "10m", "--duration", "11m")
            exported = stack.gearshift("export", path, "--profile")
            self.assertIn("from before the workload or the board changed", exported.stderr)
            self.assertIn("left out: ", exported.stderr)
            done = stack.gearshift("simulate", "--trace", path, "--missing", "nearest", "--policy", "maxn")
            self.assertEqual((done.returncode, done.stderr), (0, exported.stderr))

    def simulated(self, stack, *words):
        path = stack.folder / "run.db"
        done = stack.gearshift(
            "simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--policy", "binary_search",
            "--power", "30W", "--record", path, *words,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_an_export_does_not_take_the_place_of_what_it_reads(self):
        with Stack(board=False) as stack:
            path = self.simulated(stack)
            link, log = stack.folder / "link.db", stack.folder / "tegrastats.log"
            link.symlink_to(path)
            before = path.read_bytes()
            for out in (path, link):
                done = stack.gearshift("export", path, "--samples", "-o", out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"-o {out}: is the file that is read", done.stderr)
            self.assertEqual(path.read_bytes(), before)
            log.write_text("RAM 331/3964MB (lfb 758x4MB) CPU [10%@102,off] VDD_IN 3000/3000\n")
            done = stack.gearshift("import-tegrastats", log, "-o", log)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("VDD_IN", log.read_text())

    def test_a_recording_that_ended_before_its_run_is_told_so(self):
        with Stack(board=False) as stack:
            path = self.simulated(stack)
            for end, text in (
                ("complete", ""),
                ("database or disk is full", "it ended before the run: database or disk is full"),
                (None, "it has no end: the run was killed, or goes on"),
            ):
                rows(path, "DELETE FROM metadata WHERE key = 'end'")
                if end:
                    rows(path, f"INSERT INTO metadata (key, value) VALUES ('end', '{end}')")
                explained, exported = stack.gearshift("explain", path), stack.gearshift("export", path, "--samples")
                self.assertEqual((explained.returncode, exported.returncode), (0, 0), exported.stderr)
                head = explained.stdout.splitlines()[0]
                self.assertEqual(head.startswith("recording     "), end != "complete")
                self.assertIn(text, head)
                self.assertEqual(exported.stderr, f"{path}: {text}\n" if text else "")
                told = json.loads(stack.gearshift("explain", path, "--json").stdout)
                self.assertEqual((told["complete"], told.get("end")), (end == "complete", end))

    def test_a_profile_of_a_name_that_no_file_holds_is_left_out_and_told(self):
        with Stack(board=False) as stack:
            path = self.simulated(stack)
            with sqlite3.connect(path) as database:
                # Halfway through the search another one takes the place of the first.
                (tick,) = database.execute(
                    "SELECT tick FROM observations ORDER BY observation LIMIT 1 OFFSET 2"
                ).fetchone()
                tables = ("events", "minibatches", "requests", "workloads")
                place = sum(
                    database.execute(f"SELECT count(*) FROM {table} WHERE tick = ?", (tick,)).fetchone()[0]
                    for table in tables
                )
                database.execute("UPDATE workloads SET name = 'ResNet 18 (fp16)'")
                database.execute(
                    "INSERT INTO workloads SELECT ?, ?, workload + 1, kind, managed, pid, batch_size, batch_sizes,"
                    " samples_per_epoch, 'resnet ', latency_ns, saves FROM workloads",
                    (tick, place),
                )
            done = stack.gearshift("export", path, "--profile")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(",ResNet 18 (fp16),train,", done.stdout)
            self.assertNotIn(",resnet ,", done.stdout)
            self.assertIn("left out: a profile of 'resnet ' cannot be written", done.stderr)
            with sqlite3.connect(path) as database:
                database.execute("UPDATE workloads SET name = 'resnet '")
            done = stack.gearshift("export", path, "--profile")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("'resnet ' cannot be written", done.stderr)

    def test_who_may_not_write_beside_a_killed_run_is_told_to_copy_it(self):
        with Stack(board=False) as stack:
            path, locked = self.simulated(stack), stack.folder / "locked"
            locked.mkdir()
            killed = locked / "killed.db"
            database = sqlite3.connect(path)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE mine (value)")
            for part in ("", "-wal"):
                shutil.copy(f"{path}{part}", f"{killed}{part}")
                os.chmod(f"{killed}{part}", 0o644)  # root's own are for root alone
            database.close()
            for folder, mode in ((stack.folder, 0o755), (locked, 0o555)):
                folder.chmod(mode)
            other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
            done = subprocess.run(
                [BINARY, "replay", killed], capture_output=True, text=True, timeout=DEADLINE_S, **other
            )
            locked.chmod(0o755)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"{killed}-shm cannot be made or written here: Permission denied", done.stderr)
            self.assertIn(f"copy {killed} and {killed}-wal to a folder", done.stderr)
            self.assertEqual(self.replay(stack, killed)[0], 0)

    def test_a_run_is_recorded_under_whatever_name(self):
        with Stack(board=False) as stack:
            stack.folder.mkdir(exist_ok=True)
            words = ["simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--policy", "maxn"]
            done = subprocess.run(
                [BINARY, *words, "--record", ":memory:"], cwd=stack.folder, capture_output=True, text=True,
                timeout=DEADLINE_S,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            code, result = self.replay(stack, stack.folder / ":memory:")
            self.assertEqual((code, result["complete"]), (0, True))

    def test_what_is_no_recording_is_refused_with_the_reason(self):
        with Stack(board=False) as stack:
            letter = stack.script("dear database, " * 20, "letter.db")
            done = stack.gearshift("replay", letter)
            self.assertEqual(done.returncode, 1)
            self.assertIn("letter.db: file is not a database", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
