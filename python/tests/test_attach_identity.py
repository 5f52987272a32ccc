"""The names of a kernel's files."""

import re

import pytest

from autoheuristic.attachment.identity import Identity


@pytest.mark.parametrize("function", ["matmul", "_dyt_fwd_kernel", "__", "_1", "a" * 200, "κ"])
def test_a_stem_is_a_name_of_a_heuristic(function):
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", Identity("module", function, "0123456789ab").stem)
