"""Commands that gearshift prints are taken by a shell as they stand, also where a folder has a space."""

import shlex
import subprocess
import unittest

from harness import BINARY, DEADLINE_S, Program, Stack


class PrintedCommands(unittest.TestCase):
    def test_those_of_a_virtual_board(self):
        with Stack(board=False) as stack:
            stack.mount = stack.folder / "my board"
            stack.board = stack.start(
                Program, [BINARY, "board", "--virtual", "jetson-agx-orin", "--plain", "--mount", stack.mount], "board")
            stack.board.wait_for(lambda line: line == f"ready {stack.mount}")
            lines = [line for line in stack.board.lines if str(stack.mount) in line]
            commands = [shlex.split(line.removeprefix("  try ")) for line in lines]
            commands = [words for words in commands if words[0] in ("gearshift", "cat")]
            self.assertEqual([words[:2] for words in commands[:3]],
                             [["gearshift", "boards"], ["gearshift", "emulate"], ["gearshift", "run"]])
            for words in commands[:3]:
                self.assertEqual(words[words.index("--sysroot") + 1], str(stack.mount))
            self.assertEqual(commands[3], ["cat", f"{stack.mount}/.virtual/faults/README"])
            explained = subprocess.run([BINARY, *commands[0][1:]], capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(explained.returncode, 0, explained.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
