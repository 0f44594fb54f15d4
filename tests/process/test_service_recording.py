"""A service that records: every start comes up and guards the cap, and status tells what becomes of the recording."""

import json
import os
import signal
import subprocess
import unittest
from unittest import mock

from harness import DEADLINE_S, HOLD, Stack


class ServiceRecordings(unittest.TestCase):
    def status(self, stack, *more):
        done = stack.gearshift("status", "--control", stack.control, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def small_disk(self, stack, size):
        disk = stack.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk],
            capture_output=True, text=True, timeout=DEADLINE_S,
        )  # fmt: skip
        if mounted.returncode != 0:
            self.skipTest(f"no small disk: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True, timeout=DEADLINE_S)
        return disk

    def service(self, stack, config):
        """As a unit of Type=notify starts it; nobody needs to read what it is told."""
        with mock.patch.dict(os.environ, {"NOTIFY_SOCKET": str(stack.folder / "notify")}):
            return stack.daemon(stack.script(HOLD), "--config", stack.script(config, "run.toml"))

    def test_each_start_records_into_a_file_of_its_own_and_the_oldest_go(self):
        with Stack() as stack:
            folder = stack.folder / "recordings"
            config = f'record = "{folder}/"\nkeep-recordings = 2\n'
            seen = []
            for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGTERM):
                daemon = self.service(stack, config)
                daemon.note("status")
                recording = json.loads(self.status(stack, "--json"))["recording"]
                self.assertNotIn("end", recording)
                self.assertRegex(recording["file"], rf"^{folder}/\d{{8}}T\d{{6}}Z(-\d+)?\.db$")
                seen.append(os.path.basename(recording["file"]))
                if end == signal.SIGKILL:
                    daemon.kill()
                else:
                    self.assertEqual(daemon.finish(end), 0, daemon.tail())
            self.assertEqual(len(set(seen)), 3)
            self.assertEqual(sorted(os.listdir(folder)), sorted(seen[1:]))
            self.assertEqual(folder.stat().st_mode & 0o077, 0 if os.geteuid() == 0 else 0o055)
            for name in seen[1:]:
                self.assertEqual(stack.gearshift("replay", folder / name).returncode, 0)

    def test_a_name_that_is_taken_ends_a_command_and_not_a_service(self):
        with Stack() as stack:
            path = stack.folder / "run.db"
            path.write_text("of before")
            config = f'record = "{path}"\n'
            told = stack.daemon(stack.script(HOLD), "--config", stack.script(config, "run.toml"))
            self.assertEqual(told.finish(), 2)
            self.assertIn("run.toml:1: record ", told.tail())
            daemon = self.service(stack, config)
            ended = daemon.note("recording_ended")
            self.assertIn("the file is there already", ended["text"])
            self.assertIn("nothing is recorded, and the run goes on", "\n".join(daemon.lines))
            stack.trainer()
            daemon.note("hold")
            recording = json.loads(self.status(stack, "--json"))["recording"]
            self.assertIn("the file is there already", recording["end"])
            self.assertRegex(recording["ended_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertIn("; ended at 20", self.status(stack))
            self.assertEqual(daemon.finish(signal.SIGTERM), 0)
            self.assertEqual(path.read_text(), "of before")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to mount a small disk")
    def test_a_full_disk_keeps_no_service_from_its_cap_and_nothing_stays_on_it(self):
        with Stack() as stack:
            disk = self.small_disk(stack, "64k")
            (disk / "full").write_bytes(b"x" * (60 << 10))
            told = stack.daemon(stack.script(HOLD), "--record", disk / "run.db")
            self.assertEqual(told.finish(), 1)
            self.assertEqual(os.listdir(disk), ["full"])
            daemon = self.service(stack, f'record = "{disk}/run.db"\n')
            self.assertIn("disk is full", daemon.note("recording_ended")["text"])
            daemon.note("status")
            self.assertIn("disk is full", json.loads(self.status(stack, "--json"))["recording"]["end"])
            self.assertEqual(os.listdir(disk), ["full"])

    @unittest.skipIf(os.geteuid() != 0, "needs root, to mount a disk read-only")
    def test_a_disk_that_is_read_only_keeps_no_service_from_its_cap(self):
        with Stack() as stack:
            disk = self.small_disk(stack, "1m")
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True, timeout=DEADLINE_S)
            daemon = self.service(stack, f'record = "{disk}/recordings/"\n')
            self.assertIn("Read-only file system", daemon.note("recording_ended")["text"])
            daemon.note("status")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to mount a small disk")
    def test_status_tells_when_and_why_a_recording_ended(self):
        with Stack() as stack:
            disk = self.small_disk(stack, "256k")
            daemon = self.service(stack, f'record = "{disk}/run.db"\n')
            stack.trainer()
            daemon.note("recording_ended")
            daemon.note("status")
            recording = json.loads(self.status(stack, "--json"))["recording"]
            self.assertEqual(recording["file"], f"{disk}/run.db")
            self.assertGreater(recording["bytes"], 0)
            self.assertIn("disk is full", recording["end"])
            line = [line for line in self.status(stack).splitlines() if line.startswith("recording ")]
            self.assertIn(f"{disk}/run.db, 0.", line[0])
            self.assertIn("; ended at 20", line[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
