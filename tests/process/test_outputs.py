"""Where what a program tells goes: a disk may be full, a reader may go, a name may be no UTF-8."""

import fcntl
import json
import os
import resource
import signal
import sqlite3
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

from harness import BINARY, DEADLINE_S, HOLD, Stack, wait_until

MODEL = ["simulate", "--board", "jetson-agx-orin", "--workload", "resnet18", "--policy", "maxn"]
REQUESTS = ["requests", "--json", "--arrivals", "poisson:60", "--batch-size", "16", "--infer-time", "16=5ms", "--minutes", "1"]
FULL = Path("/dev/full")
F_SETPIPE_SZ = 1031  # fcntl has the name from Python 3.10 on


def unread(descriptor):
    """How many bytes are in a pipe."""
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0]


def gearshift(*words, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([BINARY, *words], stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, **options)


class FullDisks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_an_answer_that_is_not_written_is_no_success(self):
        recording, log = self.folder / "run.db", self.folder / "tegrastats.log"
        self.assertEqual(gearshift(*MODEL, "--record", recording).returncode, 0)
        log.write_text("RAM 331/3964MB (lfb 758x4MB) CPU [10%@102,off] VDD_IN 3000/3000\n")
        for words in (
            [*MODEL, "--json"],
            REQUESTS,
            ["boards"],
            ["--help"],
            ["export", recording, "--samples"],
            ["import-tegrastats", log],
        ):
            with self.subTest(words), FULL.open("w") as full:
                done = gearshift(*words, stdout=full)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("standard output: not all of it could be written: No space left", done.stderr)

    def test_help_that_is_not_written_is_no_success(self):
        for command in ("run", "profile", "boards"):
            with FULL.open("w") as full:
                done = gearshift(command, "--help", stdout=full)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("standard output: not all of it could be written", done.stderr)

    def test_an_output_that_is_closed_is_said_to_be(self):
        for words in (["boards"], ["run", "--help"], ["export", "none.db", "--help"]):
            done = gearshift(*words, preexec_fn=lambda: os.close(1))
            self.assertEqual((done.returncode, done.stderr), (1, "gearshift: standard output is closed\n"))

    def test_work_goes_on_where_nobody_can_be_told_of_it(self):
        profile, script = self.folder / "p.csv", self.folder / "fails.lua"
        grid = ["--keep", "cpu_cores=12", "--keep", "cpu_mhz=2201.6", "--keep", "mem_mhz=3199"]
        made = gearshift("model", "profile", *MODEL[1:5], *grid, "-o", profile)
        self.assertEqual(made.returncode, 0, made.stderr)
        script.write_text("measure(knobs)\n")
        for name, words in (
            ("o.json", ["evaluate", "--profile", profile, "--policy", f"maxn,{script}", "--caps", "20:40:10", "--json"]),
            ("q.model", ["powertrain", "transfer", profile, "--modes", "5", "--epochs", "2", "-o"]),
        ):
            whole = self.folder / ("whole-" + name)
            self.assertEqual(gearshift(*words, whole).returncode, 0)
            for where, stderr, before in (("full", FULL.open("w"), None), ("closed", None, lambda: os.close(2))):
                with self.subTest(f"{words[0]}, standard error is {where}"):
                    file = self.folder / (where + "-" + name)
                    done = subprocess.run([BINARY, *words, file], stdout=subprocess.PIPE, stderr=stderr, preexec_fn=before, timeout=DEADLINE_S)
                    self.assertEqual(done.returncode, 0)
                    self.assertEqual(file.stat().st_size, whole.stat().st_size)
                if stderr:
                    stderr.close()

    def test_a_log_that_is_not_written_is_named(self):
        done = gearshift(*MODEL, "--log", FULL)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--log /dev/full: not all of it could be written: No space left", done.stderr)

    def test_what_a_run_came_to_is_told_where_it_could_not_be_recorded(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))

        recording = self.folder / "run.db"
        # As Python leaves SIGXFSZ: ignored, so that the write fails.
        done = gearshift(*MODEL, "--hold", "10m", "--record", recording, "--json",
                         preexec_fn=small_files, restore_signals=False)  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"--record {recording}: {recording}: ", done.stderr)
        self.assertIn("chosen", json.loads(done.stdout))

    def test_a_reader_who_has_had_enough_is_no_failure(self):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as gone:
            # As under systemd, which leaves SIGPIPE ignored: else the signal ends it, as quietly.
            done = gearshift(*REQUESTS, stdout=gone, restore_signals=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_virtual_board_stays_when_the_reader_of_its_welcome_has_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            mount = Path(folder) / "orin"
            read, write = os.pipe()
            os.close(read)
            words = [BINARY, "board", "--virtual", "jetson-agx-orin", "--plain", "--mount", mount]
            with os.fdopen(write, "w") as gone:
                board = subprocess.Popen(words, stdout=gone, stderr=subprocess.PIPE)
            self.addCleanup(board.stderr.close)
            self.addCleanup(board.wait)
            self.addCleanup(board.kill)
            cpu = mount / "sys/devices/system/cpu"
            wait_until(lambda: (cpu / "online").exists())
            (cpu / "cpu7/online").write_text("0")
            wait_until(lambda: (cpu / "online").read_text().strip() == "0-6")
            board.send_signal(signal.SIGTERM)
            self.assertEqual((board.wait(DEADLINE_S), board.stderr.read()), (0, b""))


class Names(unittest.TestCase):
    def test_json_tells_of_files_whose_names_are_no_utf_8(self):
        with tempfile.TemporaryDirectory() as folder:
            odd = os.fsencode(folder) + b"/caf\xe9"
            trace = odd + b".csv"
            Path(os.fsdecode(trace)).write_text("t_s\n" + "".join(f"{i * 0.5}\n" for i in range(100)))
            board = ["--board", "jetson-agx-orin", "--workload", "resnet18", "--keep", "cpu_cores=12", "--keep", "cpu_mhz=2201.6"]
            for words in (
                [b"trace:" + trace + b",60" if word == "poisson:60" else word for word in REQUESTS],
                ["model", "profile", *board, "--json", "-o", odd],
                ["keys", "list", "--json", "--keys", odd + b"-keys"],
            ):
                with self.subTest(words):
                    done = subprocess.run([BINARY, *words], capture_output=True, timeout=DEADLINE_S)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("caf\ufffd", json.dumps(json.loads(done.stdout), ensure_ascii=False))


def daemon_words(stack, *style):
    words = [BINARY, "run", *style, "--policy", stack.script(HOLD), "--sysroot", stack.mount, "--state", stack.state]
    return words + ["--listen", stack.endpoint, "--control", stack.control, "--power", "30W"]


class Readers(unittest.TestCase):
    def told(self, stack):
        done = stack.gearshift("status", "--json", "--control", stack.control)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def test_a_daemon_whose_log_nobody_reads_any_more_keeps_the_cap(self):
        for style in (["--json"], []):
            with self.subTest(style), Stack() as stack:
                before = stack.knobs()
                words = daemon_words(stack, *style)
                daemon = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                try:
                    stack.trainer()
                    daemon.stdout.readline()
                    daemon.stdout.close()  # as head -1 does
                    wait_until(lambda: daemon.poll() is not None or self.told(stack).get("phase") == "holding")
                    self.assertIsNone(daemon.poll(), "it went with its reader")
                    cap = stack.gearshift("cap", "20W", "--control", stack.control)
                    self.assertEqual(cap.returncode, 0, cap.stderr)
                    wait_until(lambda: self.told(stack).get("cap_w") == 20, "the cap is not kept")
                    self.assertIsNone(daemon.poll())
                    daemon.send_signal(signal.SIGTERM)
                    self.assertEqual(daemon.wait(DEADLINE_S), 0)
                    self.assertEqual(stack.knobs(), before)
                finally:
                    daemon.kill()
                    daemon.wait()

    def test_a_daemon_whose_log_nobody_reads_keeps_the_cap_and_ends(self):
        for style, ending in ((["--json"], signal.SIGTERM), ([], signal.SIGKILL)):
            with self.subTest(style), Stack() as stack:
                before = stack.knobs()
                read, write = os.pipe()
                self.addCleanup(os.close, read)
                fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
                words = daemon_words(stack, *style)
                with os.fdopen(write, "wb") as held:  # as Ctrl-S holds a terminal
                    daemon = subprocess.Popen(words, stdout=held, stderr=subprocess.STDOUT)
                    try:
                        stack.trainer()
                        wait_until(lambda: self.told(stack).get("phase") == "holding")
                        # Each cap is a line of 30 to 400 bytes, and more where it begins a search.
                        for turn in range(100):
                            cap = stack.gearshift("cap", f"{25 + turn % 2}W", "--control", stack.control)
                            self.assertEqual(cap.returncode, 0, cap.stderr)
                        self.assertGreater(unread(read), 3500, "the pipe is not full")
                        stack.gearshift("cap", "20W", "--control", stack.control)
                        wait_until(lambda: self.told(stack).get("cap_w") == 20, "the cap is not kept")
                        daemon.send_signal(ending)
                        self.assertEqual(daemon.wait(DEADLINE_S), 0 if ending == signal.SIGTERM else -ending)
                        wait_until(lambda: stack.knobs() == before, "the knobs are not back")
                    finally:
                        daemon.kill()
                        daemon.wait()

    def test_no_name_moves_a_terminal(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            recording, script, table = folder / "r.db", folder / "ev\x1b[2Jil.lua", folder / "p.csv"
            script.write_text("return modes[1]\n")
            table.write_text("device,workload,kind,batch_size,gpu_mhz,minibatch_ms,power_w\norin,net,train,16,300,80,10\n")
            self.assertEqual(gearshift(*MODEL, "--record", recording, "--log", folder / "log").returncode, 0)
            with sqlite3.connect(recording) as database:
                for change in ("knobs SET name = name || ?", "limit_sources SET name = ?", "notes SET text = ?"):
                    database.execute(f"UPDATE {change}", ("\x1b[2J\x9b2J\x07",))
                database.execute("UPDATE metadata SET value = ? WHERE key = 'board_id'", ("\x1b[2J",))
            database.close()
            for words in (["explain", recording, "--all"], ["replay", recording], ["replay", recording, "--policy", "maxn"],
                          ["evaluate", "--profile", table, "--policy", script, "--caps", "60"]):  # fmt: skip
                done = gearshift(*words)
                self.assertIn("?[2J", done.stdout, done.stderr)
                for control in "\x1b\x9b\x07":
                    self.assertNotIn(control, done.stdout + done.stderr, words)

    def test_a_log_that_outgrows_what_files_may_have_ends_no_daemon(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        with Stack() as stack:
            before = stack.knobs()
            log = stack.folder / "log"
            words = daemon_words(stack, "--json")
            with log.open("wb") as file:
                daemon = subprocess.Popen(words, stdout=file, preexec_fn=small_files)
            try:
                stack.trainer()
                wait_until(lambda: self.told(stack).get("phase") == "holding")
                for turn in range(200):
                    if log.stat().st_size == 20000:
                        break
                    stack.gearshift("cap", f"{25 + turn % 2}W", "--control", stack.control)
                self.assertEqual(log.stat().st_size, 20000)
                for power in ("26W", "25W", "20W"):
                    stack.gearshift("cap", power, "--control", stack.control)
                wait_until(lambda: self.told(stack).get("cap_w") == 20)
                self.assertIsNone(daemon.poll(), "SIGXFSZ ended it")
                daemon.send_signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(DEADLINE_S), 0)
                self.assertEqual(stack.knobs(), before)
            finally:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    unittest.main()
