"""The daemon, killed in place of each single write of one setting: knobs and journal alike.

KILL_STRIDE=1 kills at every one of them, as `make soak` does; otherwise at each third.
"""

import os
import unittest

from harness import DEADLINE_S, Stack, skip_all

SHIM = os.environ.get("KILL_AT_WRITE_SHIM")
if not SHIM:
    skip_all("KILL_AT_WRITE_SHIM does not name the library that kills at a write")
STRIDE = int(os.environ.get("KILL_STRIDE", "3"))
MOST_WRITES = 300
# Down: clocks fall, the memory clock is locked, and cores go. Up: cores come, and bring clocks.
SETTINGS = {
    "down": """return {cpu_cores = 2, cpu_mhz = knobs.cpu_mhz[5], gpu_mhz = knobs.gpu_mhz[1],
                       mem_mhz = knobs.mem_mhz[1]}""",
    "up": """return {cpu_cores = 12, cpu_mhz = knobs.cpu_mhz[18], gpu_mhz = knobs.gpu_mhz[6],
                     mem_mhz = knobs.mem_mhz[3]}""",
}


class KilledWhileItWrites(unittest.TestCase):
    def start(self, stack, script, number):
        os.environ.update(
            LD_PRELOAD=SHIM, KILL_AT_WRITE=str(number), KILL_BELOW=str(stack.folder)
        )
        try:
            return stack.daemon(script, power=None)
        finally:
            for name in ("LD_PRELOAD", "KILL_AT_WRITE", "KILL_BELOW"):
                del os.environ[name]

    def test_at_every_write_of_a_setting_the_board_is_put_back(self):
        for name, text in SETTINGS.items():
            with self.subTest(name), Stack() as stack:
                stack.trainer()
                self.sweep(stack, stack.script(text), name)

    def sweep(self, stack, script, name):
        before = stack.knobs()
        killed = 0
        for number in range(1, MOST_WRITES, STRIDE):
            daemon = self.start(stack, script, number)
            if not self.is_killed(daemon):
                # All the writes that there are were swept; this one holds.
                self.assertNotEqual(stack.knobs(), before)
                break
            killed += 1
            self.assertEqual(stack.knobs(), before, f"killed at write {number}")
            # What was saved is used up: the next daemon saves anew.
            self.assertFalse((stack.state / "knobs.journal").exists(), f"write {number}")
        else:
            self.fail(f"a setting took more than {MOST_WRITES} writes")
        print(f"{name}: killed at {killed} of its writes, all put back")
        self.assertGreater(killed * STRIDE, 9)

    def is_killed(self, daemon):
        """False where the daemon comes to hold its setting; else after its guardian has ended."""

        def decided(line):
            return '"note":"status"' in line and '"phase":"holding"' in line

        while (line := daemon.next_line()) is not None:
            if decided(line):
                return False
        # Its output ends with the last process that has it: the guardian's.
        self.assertEqual(daemon.process.wait(DEADLINE_S), -9, daemon.tail())
        return True


if __name__ == "__main__":
    unittest.main()
