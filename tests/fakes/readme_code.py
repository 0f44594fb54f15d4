"""The code that the README of the Python client shows, for tests that run it."""

import re

from client_test import ROOT


def readme_code(part):
    """The one block in which `part` stands."""
    text = (ROOT / "bridge/python/README.md").read_text()
    blocks = [block for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if part in block]
    if len(blocks) != 1:
        raise AssertionError(f"{len(blocks)} blocks of bridge/python/README.md with {part!r}")
    return blocks[0]
