"""Measures the configurations of a kernel on one input, into its log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .. import text
from ..check import Errors, Outputs
from ..kernel import Call
from ..measure import measure
from ..outcome import Outcome
from .portfolio import worth_measuring
from .session import Session
from .state import State


class Restored(Outputs):
    """The outputs of a package's kernel: given back after measuring, and not compared.

    The author answers for the configurations. Some write partial sums whose places depend on the configuration, so
    their buffers differ where the results do not.
    """

    def errors(self) -> Errors:
        """Returns no difference."""
        return []


def measured_input(session: Session, state: State, call: Call, features: Mapping[str, Any]) -> Mapping[str, Outcome]:
    """Returns the times of an input: those of the log, or measured now; none where nothing may be measured.

    Raises:
        DeviceLostError: The device reported a fault; it may be lost.
        LogError: The log cannot take the input.

    """
    kernel = state.kernel
    with session.lock:
        known = state.recorder.known(features, kernel.names)
        if known or not session.may_measure:
            return known
        begin = time.monotonic()
        offered = [kernel.names[i] for i in kernel.pruned(call)]
        seed = text.row(f"{name}={value}" for name, value in features.items())
        kept = [state.index[name] for name in worth_measuring(offered, state.recorder.inputs(), seed)]
        outputs = Restored(kernel.named_args(call), None, None)
        found = measure(kernel, call, kept, kept[0], outputs)
        state.recorder.add(features, found)
        session.seconds += time.monotonic() - begin
        return found
