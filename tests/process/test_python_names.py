"""Every name that a Python file of this tree uses is one that it has: pyflakes reads them all."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

from harness import DEADLINE_S, SOURCE, skip_all

if importlib.util.find_spec("pyflakes") is None:
    skip_all("python3-pyflakes is missing")


def python_files():
    """The tree's own: what is built or hidden is left out."""
    for folder, below, files in os.walk(SOURCE):
        below[:] = [name for name in below if name == ".ci" or not name.startswith(("build", "."))]
        for file in files:
            if file.endswith(".py"):
                yield os.path.join(folder, file)


def complaints(files):
    """What pyflakes says of the files, a line each."""
    told = subprocess.run([sys.executable, "-m", "pyflakes", *files], capture_output=True, text=True,
                          timeout=DEADLINE_S)
    return (told.stdout + told.stderr).splitlines()


class Names(unittest.TestCase):
    def test_of_every_file_are_defined_and_used(self):
        files = sorted(python_files())
        self.assertIn(str(SOURCE / ".ci/summary.py"), files)
        self.assertGreater(len(files), 50)
        self.assertEqual(complaints(files), [])

    def test_that_are_missing_are_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("def late():\n    return DEADLINE_S\n")
            file.flush()
            self.assertIn("undefined name 'DEADLINE_S'", "\n".join(complaints([file.name])))


if __name__ == "__main__":
    unittest.main()
