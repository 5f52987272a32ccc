"""A cache of single timings on disk, so that a new configuration measures only itself.

One file holds the timings of one version of a kernel on one device under one set of versions and one timing policy;
its name ends in a hash of all that. Inside, a line is one configuration on one key. A changed kernel has another
hash, so it begins a file of its own, and other kernels keep theirs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .environment import file_name
from .outcome import Outcome


class Timings:
    """The timings of one kernel."""

    def __init__(self, folder: Path, name: str, identity: Mapping[str, Any]):
        """``identity`` is all that the timings depend on, besides key and configuration."""
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        self.path = folder / f"{file_name(name)}-{digest}.jsonl"
        self._known = self._read()

    def get(self, key: str, choices: list[str]) -> dict[str, Outcome]:
        """Returns what is known of these choices on this key."""
        return {choice: self._known[key, choice] for choice in choices if (key, choice) in self._known}

    def put(self, key: str, outcomes: Mapping[str, Outcome]) -> None:
        """Stores outcomes, as one write; failures that depend on other configurations are left out.

        Raises:
            OSError: The file cannot be written.

        """
        lines = []
        for choice, outcome in outcomes.items():
            if outcome.lasting:
                self._known[key, choice] = outcome
                lines.append(json.dumps([key, choice, outcome.rows, outcome.reason]) + "\n")
        if not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Appends of one write each: two processes never interleave lines on a local disk.
        with open(self.path, "ab", buffering=0) as file:
            file.write("".join(lines).encode())

    def _read(self) -> dict[tuple[str, str], Outcome]:
        known: dict[tuple[str, str], Outcome] = {}
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return known
        for line in text.splitlines():
            try:
                key, choice, rows, reason = json.loads(line)
                if all(math.isfinite(ms) and ms > 0 for ms in rows) and (rows or reason):
                    known[key, choice] = Outcome(rows, reason)
            except (ValueError, TypeError):
                continue  # A torn line holds nothing that cannot be measured again.
        return known
