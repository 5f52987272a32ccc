"""Kernel selection: what selectors lose on fixed splits of public logs. README.md has the rules."""

import pathlib
import sys

# The package that reads logs need not be installed.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
