"""What a command writes takes the place of nothing that it reads, nor of anything it was not told to replace."""

import html
import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, SOURCE, wait_until

BOARD = ["--board", "jetson-agx-orin"]
MODEL = [*BOARD, "--workload", "resnet18", "--policy", "maxn"]
SMALL = ["--keep", "cpu_cores=12", "--keep", "cpu_mhz=2201.6", "--keep", "mem_mhz=3199"]
RATES = ["--caps", "30", "--problem", "train"]
WAITS = 'return {cpu_cores = 12, cpu_mhz = knobs.cpu_mhz[1], gpu_mhz = knobs.gpu_mhz[1], mem_mhz = knobs.mem_mhz[1]}\n'


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def gearshift(self, *words, **options):
        return subprocess.run([os.path.abspath(BINARY), *words], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S, **options)

    def made(self, *words):
        done = self.gearshift(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def profile(self, name="p.csv"):
        self.made("model", "profile", *BOARD, "--workload", "resnet18", *SMALL, "-o", name)

    def there(self):
        return {file.name: file.read_bytes() for file in self.folder.iterdir() if file.is_file()}


class Inputs(Files):
    def setUp(self):
        super().setUp()
        self.profile()
        self.made("simulate", *MODEL, "--record", "r.db")
        self.made("powertrain", "transfer", "p.csv", "--modes", "5", "--epochs", "1", "-o", "q.model")
        (self.folder / "m.lua").write_text(WAITS)
        (self.folder / "s.toml").write_text('caps = "30"\n')
        (self.folder / "my.toml").write_text((SOURCE / "boards/jetson-agx-orin.toml").read_text())
        (self.folder / "a.csv").write_text("t_s\n" + "".join(f"{i * 0.5}\n" for i in range(100)))
        (self.folder / "link.csv").symlink_to("p.csv")

    def refused(self, words, flags):
        """Both flags are named, and nothing has been written."""
        with self.subTest(words):
            before = self.there()
            done = self.gearshift(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            for flag in flags:
                self.assertIn(flag, done.stderr)
            self.assertEqual(self.there(), before)

    def test_no_output_is_an_input(self):
        simulate = ["simulate", "--profile", "p.csv", "--policy", "maxn"]
        grid = ["evaluate", "--profile", "p.csv", "--policy", "maxn", *RATES]
        for words, flags in (
            (["powertrain", "transfer", "p.csv", "-o", "p.csv"], ("-o p.csv", "PROFILE p.csv")),
            (["powertrain", "train", "p.csv", "-o", "link.csv"], ("-o link.csv", "PROFILE p.csv")),
            (["powertrain", "transfer", "p.csv", "--reference", "q.model", "-o", "q.model"], ("-o q.model", "--reference q.model")),
            (["powertrain", "predict", "q.model", "--profile", "p.csv", "-o", "q.model"], ("-o q.model", "MODEL q.model")),
            (["powertrain", "predict", "q.model", "--profile", "p.csv", "-o", "p.csv"], ("-o p.csv", "--profile p.csv")),
            (["powertrain", "predict", "q.model", "--board", "my.toml", "-o", "my.toml"], ("-o my.toml", "--board my.toml")),
            (["pareto", "p.csv", "--plot", "p.csv"], ("--plot p.csv", "FILE p.csv")),
            (["model", "profile", "--board", "my.toml", "--workload", "resnet18", *SMALL, "-o", "my.toml"], ("-o my.toml", "--board my.toml")),
            (["simulate", "--trace", "r.db", "--policy", "maxn", "--missing", "nearest", "--log", "r.db"], ("--log r.db", "--trace r.db")),
            (["simulate", "--trace", "r.db", "--policy", "maxn", "--record", "r.db", "--overwrite"], ("--record r.db", "--trace r.db")),
            ([*simulate, "--log", "link.csv"], ("--log link.csv", "--profile p.csv")),
            ([*simulate, "--record", "p.csv", "--overwrite"], ("--record p.csv", "--profile p.csv")),
            ([*simulate[:-1], "./m.lua", "--log", "m.lua"], ("--log m.lua", "--policy ./m.lua")),
            (["simulate", *MODEL, "--prior", "p.csv", "--log", "p.csv"], ("--log p.csv", "--prior p.csv")),
            ([*simulate, "--fault", "workload:p.csv@5s", "--log", "p.csv"], ("--log p.csv", "p.csv")),
            (["simulate", *MODEL, "--problem", "infer", "--arrivals", "trace:a.csv,60", "--log", "a.csv"], ("--log a.csv", "--arrivals a.csv")),
            ([*grid, "--json", "p.csv"], ("--json p.csv", "--profile p.csv")),
            ([*grid, "--csv", "p.csv"], ("--csv p.csv", "--profile p.csv")),
            ([*grid, "--prior", "a.csv", "--html", "a.csv"], ("--html a.csv", "--prior a.csv")),
            ([*grid, "--results", "p.csv"], ("--results p.csv", "--profile p.csv")),
            ([*grid, "--policy", "./m.lua", "--html", "m.lua"], ("--html m.lua", "--policy ./m.lua")),
            (["evaluate", "s.toml", "--profile", "p.csv", "--policy", "maxn", "--csv", "s.toml"], ("--csv s.toml", "spec s.toml")),
            (["run", "--sysroot", "/no/such/board", "--prior", "p.csv", "--record", "p.csv", "--overwrite"], ("--record p.csv", "--prior p.csv")),
            (["run", "--sysroot", "/no/such/board", "--policy", "./m.lua", "--record", "m.lua", "--overwrite"], ("--record m.lua", "--policy ./m.lua")),
        ):
            self.refused(words, flags)

    def test_no_output_is_another_one(self):
        grid = ["evaluate", "--profile", "p.csv", "--policy", "maxn", *RATES]
        for words, flags in (
            ([*grid, "--json", "o", "--csv", "./o", "--html", "o"], ("--csv ./o", "--json o")),
            ([*grid, "--json", "o.json", "--results", "o.json"], ("--results o.json", "--json o.json")),
            ([*grid, "--json", "o.json", "--csv", "o.json.trials"], ("--results o.json.trials", "--csv o.json.trials")),
            (["simulate", *MODEL, "--log", "new.db", "--record", "new.db"], ("--record new.db", "--log new.db")),
            (["simulate", *MODEL, "--log", "new.db-wal", "--record", "new.db"], ("--record new.db-wal", "--log new.db-wal")),
        ):
            self.refused(words, flags)

    def test_outputs_of_their_own_are_written(self):
        self.made("evaluate", "--profile", "p.csv", "--policy", "maxn", *RATES, "--json", "o.json", "--csv", "link2.csv", "--html", os.devnull)
        self.made("simulate", *MODEL, "--log", "l.jsonl", "--record", "new.db")
        self.assertTrue({"o.json", "o.json.trials", "link2.csv", "l.jsonl", "new.db"} <= set(self.there()))


class Streams(Files):
    def test_standard_output_is_for_what_asked_for_it_alone(self):
        self.profile()
        self.made("powertrain", "transfer", "p.csv", "--modes", "5", "--epochs", "1", "-o", "q.model")
        self.made("simulate", *MODEL, "--record", "r.db")
        before = set(self.there())
        grid = ["evaluate", "--profile", "p.csv", "--policy", "maxn", *RATES]
        for words, begins, told in (
            ([*grid, "--json"], "{", "maxn"),
            ([*grid, "--csv"], "policy,workload,", "maxn"),
            ([*grid, "--html"], "<!DOCTYPE", "maxn"),
            (["model", "profile", *BOARD, "--workload", "resnet18", *SMALL, "-o"], "device,", "settings by the board model"),
            (["powertrain", "predict", "q.model", "--profile", "p.csv", "-o"], "device,", "predicted settings"),
            (["pareto", "p.csv", "--plot"], "<svg", "resnet18"),
            (["export", "r.db", "--samples", "-o"], "time_s", ""),
        ):
            for output in ("-", "/dev/stdout"):
                with self.subTest([*words, output]):
                    done = self.gearshift(*words, output)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout[: len(begins)].lower(), begins.lower())
                    self.assertIn(told, done.stderr)
                    self.assertNotIn("settings by the board model", done.stdout)
                    if begins == "{":
                        json.loads(done.stdout)
        self.assertEqual(set(self.there()), before)

    def test_what_the_shell_redirects_to_is_not_replaced(self):
        self.profile()
        file = self.folder / "all.csv"
        file.write_text("kept\n")
        for words in (
            ["model", "profile", *BOARD, "--workload", "resnet18", *SMALL, "-o", "/dev/stdout"],
            ["simulate", *MODEL, "--log", "/dev/stdout"],
        ):
            with file.open("a") as out:
                done = subprocess.run([os.path.abspath(BINARY), *words], stdout=out, stderr=subprocess.PIPE, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
        lines = file.read_text().splitlines()
        self.assertEqual((lines[0], lines[1].split(",")[0]), ("kept", "device"))
        logged = [line for line in lines if line.startswith("{")]
        self.assertGreater(len([json.loads(line) for line in logged]), 3)
        self.assertTrue(any("chosen" in line for line in lines if line not in logged))

    def test_what_is_no_stream_is_not_called_a_dash(self):
        self.profile()
        before = self.there()
        grid = ["evaluate", "--profile", "p.csv", "--policy", "maxn", *RATES]
        for words, named in (
            (["simulate", *MODEL, "--record", "-"], "--record -: cannot be standard output; name a file, one of that name as ./-"),
            (["simulate", *MODEL, "--log", "-"], "--log -: cannot be"),
            (["run", "--sysroot", "/no/such/board", "--record", "-"], "--record -: cannot be"),
            ([*grid, "--results", "-"], "--results -: cannot be"),
            (["powertrain", "transfer", "p.csv", "-o", "-"], "-o -: cannot be"),
            (["profile", "--sysroot", "/no/such/board", "-o", "-"], "-o -: cannot be"),
            ([*grid, "--json", "-", "--csv", "/dev/stdout"], "--csv /dev/stdout: is the file that is written too, --json -"),
        ):
            with self.subTest(words):
                done = self.gearshift(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(named, done.stderr)
        self.assertEqual(self.there(), before)


class Words(Files):
    def test_a_spec_behind_a_flags_value_is_a_spec(self):
        (self.folder / "a'b").mkdir()
        self.profile("a'b/p.csv")
        (self.folder / "s.toml").write_text('caps = "20:40:10"\n')
        grid = ["--profile", "a'b/p.csv", "--policy", "maxn"]
        self.made("evaluate", "s.toml", *grid, "--csv", "first.csv")
        self.made("evaluate", *grid, "s.toml", "--csv", "last.csv", "--html", "last.html")
        files = self.there()
        self.assertEqual(files["first.csv"], files["last.csv"])
        self.assertEqual(len(files["first.csv"].splitlines()), 4)
        self.assertIn("a'\\''b/p.csv'", html.unescape(files["last.html"].decode()))


class Recordings(Files):
    def test_a_log_stays_where_the_recording_is_refused(self):
        (self.folder / "day.db").write_text("a day")
        (self.folder / "log").write_text("yesterday")
        for record, code in (("day.db", 2), ("day.db/x", 1), ("no/day.db", 1)):
            done = self.gearshift("simulate", *MODEL, "--log", "log", "--record", record)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(self.there(), {"day.db": b"a day", "log": b"yesterday"})
        self.made("simulate", *MODEL, "--log", "log")
        self.assertTrue(self.there()["log"].startswith(b"{"))

    def test_what_a_killed_run_left_beside_the_name_stays(self):
        for rest in ("-wal", "-journal", "-shm"):
            file = self.folder / ("day.db" + rest)
            file.write_text("rows")
            done = self.gearshift("simulate", *MODEL, "--record", "day.db")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--record day.db: day.db{rest} is there already", done.stderr)
            self.assertEqual(self.there(), {file.name: b"rows"})
            file.unlink()
        (self.folder / "day.db-wal").write_text("rows")
        self.made("simulate", *MODEL, "--record", "day.db", "--overwrite")
        self.assertEqual(set(self.there()), {"day.db"})

    def test_a_recording_that_a_run_still_writes_is_not_thrown_away(self):
        again = ["simulate", *MODEL, "--record", "x.db", "--overwrite"]
        words = ["simulate", *MODEL, "--power", "30W", "--fault", "cap_steps:30W@80000s", "--duration", "300h", "--record", "x.db"]
        running = subprocess.Popen([os.path.abspath(BINARY), *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: (self.folder / "x.db-wal").exists() and (self.folder / "x.db-wal").stat().st_size > 0)
            running.send_signal(signal.SIGSTOP)  # it is not at its end before the others are
            inode = (self.folder / "x.db").stat().st_ino
            (self.folder / "link.db").symlink_to("x.db")
            for name in ("x.db", "link.db"):
                done = self.gearshift("simulate", *MODEL, "--record", name, "--overwrite")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"--record {name}: process {running.pid} has the file open", done.stderr)
                self.assertIn("give another name", done.stderr)
            self.assertEqual((self.folder / "x.db").stat().st_ino, inode)
        finally:
            running.kill()
            running.communicate()
        self.assertTrue((self.folder / "x.db-wal").exists())
        self.made(*again)  # what a killed run left is in nobody's use
        self.assertEqual(set(self.there()), {"x.db", "link.db"})
        self.made(*again)

    def test_a_link_leads_where_the_file_is_made(self):
        (self.folder / "ssd").mkdir()
        for name, words in (
            ("day.db", ["simulate", *MODEL, "--record", "link-day.db"]),
            ("p.csv", ["model", "profile", *BOARD, "--workload", "resnet18", *SMALL, "-o", "link-p.csv"]),
        ):
            link = self.folder / ("link-" + name)
            link.symlink_to("ssd/" + name)
            self.made(*words)
            self.assertTrue(link.is_symlink(), name)
            self.assertGreater((self.folder / "ssd" / name).stat().st_size, 0)
        self.made("simulate", *MODEL, "--record", "link-day.db", "--overwrite")
        self.assertTrue((self.folder / "link-day.db").is_symlink())

    def test_why_a_file_cannot_be_made_is_told(self):
        (self.folder / "file").write_text("no folder")
        for flag in ("--record", "--log"):
            for path, why in (("file/x", "Not a directory"), ("no/x", "No such file or directory")):
                done = self.gearshift("simulate", *MODEL, flag, path)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"{flag} {path}: cannot be written: {why}", done.stderr)


if __name__ == "__main__":
    unittest.main()
