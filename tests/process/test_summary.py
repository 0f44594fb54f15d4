"""The last lines of `make test` say what ran, and why the rest did not."""

import os
import subprocess
import sys
import tempfile
import unittest

from harness import DEADLINE_S, SOURCE

GOOGLE = """[ RUN      ] Measured.Optimum
/x/measured_test.cpp:33: Skipped
no measured data in /shared/data; GEARSHIFT_MEASURED names another folder
[  SKIPPED ] Measured.Optimum (0 ms)
[==========] 3 tests from 1 test suite ran. (1 ms total)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
"""
PYTHON = """test_a (test_a.A) ... ok
test_b (test_a.A)
What it does. ... skipped 'needs "root"'
test_c (test_a.A) ... skipped "this user's shell"

Ran 3 tests in 0.001s

OK (skipped=2)
"""
QUIET = "Ran 2 tests in 0.001s\n\nOK (skipped=1)\n"


class SummaryTest(unittest.TestCase):
    def told(self, *outputs, whole=""):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("<testsuite>")
                for output in outputs:
                    file.write(f"<testcase status='run'><system-out><![CDATA[{output}]]></system-out></testcase>")
                if whole:
                    file.write(f"<testcase status='notrun'><skipped/><system-out>{whole}</system-out></testcase>")
                file.write("</testsuite>")
            ran = subprocess.run([sys.executable, SOURCE / ".ci/summary.py", path], text=True,
                                 stdout=subprocess.PIPE, timeout=DEADLINE_S, check=True)
        return ran.stdout.splitlines()

    def test_names_why_tests_were_skipped(self):
        self.assertEqual(self.told(GOOGLE, GOOGLE, PYTHON, QUIET, whole="skipped: chromium is missing"),
                         ["skipped 1: chromium is missing",
                          'skipped 1: needs "root"',
                          "skipped 2: no measured data in /shared/data; GEARSHIFT_MEASURED names another folder",
                          "skipped 1: no reason told",
                          "skipped 1: this user's shell",
                          "6 passed, 0 failed, 6 skipped"])

    def test_says_nothing_of_skips_where_there_are_none(self):
        self.assertEqual(self.told("Ran 2 tests in 0.001s\n\nOK\n"), ["2 passed, 0 failed"])


if __name__ == "__main__":
    unittest.main()
