"""Runs the examples in the texts of this package: python -m lab.doctests."""

import doctest
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parent


def main() -> int:
    failed = 0
    for file in sorted(ROOT.rglob("*.py")):
        name = ".".join(["lab", *file.relative_to(ROOT).with_suffix("").parts])
        failed += doctest.testmod(importlib.import_module(name)).failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
