"""The log of measurements, ``train.txt``: read, write, append.

The format is the project's (``docs/log-format.md``): a line of JSON metadata, a CSV header, one row a timing.
"""

from .log import Log, Row
from .metadata import Metadata
from .writer import LogWriter

__all__ = ["Log", "LogWriter", "Metadata", "Row"]
