"""The Python client runs on the oldest Python that its pyproject promises: 3.8, which JetPack 5 has.

No such Python is at hand where tests run, so its files are read: their syntax, and what 3.9 and later
ones brought that is evaluated when a file is imported or run.
"""

import ast
import re
import unittest

from harness import SOURCE

PYTHON = SOURCE / "bridge" / "python"
# Not subscripted before 3.9, and no operands of | before 3.10.
TYPES = {"dict", "frozenset", "list", "set", "tuple", "type"}
PLAIN_TYPES = TYPES | {"bool", "bytes", "float", "int", "object", "str"}
COLLECTIONS = {"ChainMap", "Counter", "OrderedDict", "defaultdict", "deque"}
ATTRIBUTES = {
    "bit_count", "is_relative_to", "lcm", "pairwise", "randbytes", "removeprefix", "removesuffix",
    "to_thread", "unparse",
}
MODULES = {"graphlib", "tomllib", "zoneinfo"}
# Options of calls, by the function's name.
OPTIONS = {"zip": {"strict"}, "dataclass": {"slots", "kw_only"}}


def oldest():
    """The version that pyproject promises."""
    promised = re.search(r'^requires-python = ">=3\.(\d+)"$', (PYTHON / "pyproject.toml").read_text(), re.M)
    return 3, int(promised[1])


def name_of(node):
    return getattr(node, "id", getattr(node, "attr", ""))


def annotations(tree):
    """Every node of every annotation."""
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                yield from ast.walk(getattr(node, field))


def is_type(node):
    return name_of(node) in PLAIN_TYPES or (isinstance(node, ast.Constant) and node.value is None)


def is_dict(node):
    return isinstance(node, (ast.Dict, ast.DictComp)) or name_of(getattr(node, "func", None)) == "dict"


def complaint(node):
    """What is too new in this node, itself alone; else None."""
    if isinstance(node, ast.Subscript):
        named = name_of(node.value)
        if named in COLLECTIONS or (isinstance(node.value, ast.Name) and named in TYPES):
            return f"{named}[...]"
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.BitOr):
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        if any(is_type(side) or is_dict(side) for side in sides):
            return "|"
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
        return node.attr
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        named = [alias.name for alias in node.names] + [getattr(node, "module", "")]
        return next((name for name in named if name in MODULES | ATTRIBUTES), None)
    elif isinstance(node, ast.Call):
        options = {option.arg for option in node.keywords}
        if options & OPTIONS.get(name_of(node.func), set()):
            return f"{name_of(node.func)}({', '.join(sorted(options))})"
    return None


def complaints(text):
    """What in a file is too new, as "line: what"."""
    try:
        tree = ast.parse(text, feature_version=oldest())
    except SyntaxError as error:
        return [f"{error.lineno}: {error.msg}"]
    in_annotations = set(annotations(tree))
    late = any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    told = []
    for node in ast.walk(tree):
        if node in in_annotations:
            if late:
                continue  # never evaluated
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                told.append(f"{node.lineno}: | in an annotation")
                continue
        what = complaint(node)
        if what:
            told.append(f"{node.lineno}: {what}")
    return told


class Oldest(unittest.TestCase):
    def test_every_file_is_one_that_the_oldest_python_takes(self):
        files = sorted(PYTHON.glob("*/*.py"))
        self.assertIn(PYTHON / "gearshift" / "key.py", files)
        for file in files:
            with self.subTest(file.name):
                self.assertEqual(complaints(file.read_text()), [])

    def test_what_is_too_new_is_told(self):
        for text in (
            "def f() -> Key | None: ...",
            "def f(a: list[int]): ...",
            "a: 'int' | None = 3",
            "from __future__ import annotations\nPair = tuple[int, int]",
            "from __future__ import annotations\nisinstance(3, int | None)",
            "queue = collections.deque[int]()",
            "both = {**a} | b",
            "a |= dict(b=1)",
            "text.removeprefix('a')",
            "zip(a, b, strict=True)",
            "@dataclasses.dataclass(slots=True)\nclass A: ...",
            "from itertools import pairwise",
            "import zoneinfo",
            "match a:\n    case 1: pass",
        ):
            with self.subTest(text):
                self.assertEqual(len(complaints(text)), 1)

    def test_what_is_as_old_is_not(self):
        for text in (
            "from __future__ import annotations\ndef f(a: list[int]) -> Key | None: ...",
            "flags = zmq.NOBLOCK | zmq.SNDMORE",
            "sizes: Tuple[int, ...] = ()",
            "if (a := 3) and list(b)[0]: pass",
        ):
            with self.subTest(text):
                self.assertEqual(complaints(text), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
