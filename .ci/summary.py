"""Prints how many tests passed, failed and were skipped, as the last line of `make test`, and before it
why they were skipped.

Reads the JUnit file that ctest wrote. One ctest entry is a whole program, so the counts come from
what GoogleTest or unittest printed inside it; a program that prints neither counts as one test.
"""

import collections
import re
import sys
import xml.etree.ElementTree as ElementTree


def first_number(pattern: str, text: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def count(entry: ElementTree.Element) -> tuple[int, int, int]:
    """Passed, failed and skipped tests of one ctest entry."""
    output = entry.findtext("system-out") or ""
    if entry.get("status") == "disabled" or entry.find("skipped") is not None:
        return 0, 0, 1
    broken = entry.get("status") == "fail" or entry.find("failure") is not None
    if re.search(r"^\[==========\] \d+ tests? from .* ran\.", output, re.MULTILINE):
        passed = first_number(r"^\[  PASSED  \] (\d+) tests?\.", output)
        failed = first_number(r"^\[  FAILED  \] (\d+) tests?, listed below", output)
        skipped = first_number(r"^\[  SKIPPED \] (\d+) tests?, listed below", output)
    elif re.search(r"^Ran \d+ tests? in ", output, re.MULTILINE):
        ran = first_number(r"^Ran (\d+) tests? in ", output)
        failed = first_number(r"^FAILED .*failures=(\d+)", output)
        failed += first_number(r"^FAILED .*errors=(\d+)", output)
        skipped = first_number(r"^(?:OK|FAILED) \(.*skipped=(\d+)", output)
        passed = max(0, ran - failed - skipped)
    else:
        passed, failed, skipped = (0, 1, 0) if broken else (1, 0, 0)
    # A program that died after its last count has failed all the same.
    return passed, max(failed, 1) if broken else failed, skipped


def skip_reasons(entry: ElementTree.Element) -> list[str]:
    """Why tests of one ctest entry were skipped, a reason a test, as far as they say so."""
    output = entry.findtext("system-out") or ""
    told = re.findall(r": Skipped\n(.*)", output)  # GoogleTest
    told += [match[1] for match in re.findall(r"""\.\.\. skipped (["'])(.*)\1$""", output, re.MULTILINE)]
    told += re.findall(r"^skipped: (.*)", output, re.MULTILINE)  # a whole program of tests/process
    return told


def main() -> None:
    entries = list(ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    counts = [count(entry) for entry in entries]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    reasons = collections.Counter(reason for entry in entries for reason in skip_reasons(entry))
    reasons["no reason told"] = max(0, skipped - reasons.total())
    for reason, tests in sorted(reasons.items()):
        if tests > 0:
            print(f"skipped {tests}: {reason}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main()
