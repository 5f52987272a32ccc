"""Writes timings.csv, with the defaults of pandas 3.1. The rows are invented."""

from pathlib import Path

import pandas as pd

rows = [
    # M, alpha, transposed, dtype, BLOCK_M, stages, ms; None and NaN are missing
    (64, 0.5, True, "float16", 16, 2, 0.5),
    (64, 0.5, True, "float16", 16, 2, 0.625),
    (64, 0.5, True, "float16", 32, None, 0.1),
    (128, 1.0, False, "float32", 16, 2, float("nan")),
    (128, 1.0, False, "float32", 32, None, float("inf")),
    (9007199254740992, 1e-7, False, "a, b", 16, 2, 1e-3),
]
table = pd.DataFrame(rows, columns=["M", "alpha", "transposed", "dtype", "BLOCK_M", "stages", "ms"])
table = table.astype({"dtype": "category", "BLOCK_M": "int32", "stages": "Int64"})
here = Path(__file__).parent
table.to_csv(here / "timings.csv")
