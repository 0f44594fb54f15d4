"""Prints how many tests passed, failed and were skipped, as the last line of `make test`.

Reads the JUnit file that ctest wrote. One ctest entry is a whole program, so the counts come from
what GoogleTest or unittest printed inside it; a program that prints neither counts as one test.
"""

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


def main() -> None:
    root = ElementTree.parse(sys.argv[1]).getroot()
    counts = [count(entry) for entry in root.iter("testcase")]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main()
