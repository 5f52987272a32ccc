#!/usr/bin/env bash
# One fit of ah-train's learner and of scikit-learn's tree on the same matrix, one thread each:
# scripts/compare-scikit-learn.sh [ROWS...]   (needs python3 with numpy and scikit-learn)
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p ah-train --example fit_scaling
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for rows in "${@:-10000 100000}"; do
  for n in $rows; do
    target/release/examples/fit_scaling "$n" 1 "$folder"
    OMP_NUM_THREADS=1 python3 - "$folder" "$n" <<'PY'
import sys, time
import numpy as np
from sklearn.tree import DecisionTreeClassifier
folder, rows = sys.argv[1], int(sys.argv[2])
x = np.fromfile(f"{folder}/features.f32", "<f4").reshape(40, rows).T.copy()
y = np.fromfile(f"{folder}/labels.u8", "u1")
start = time.perf_counter()
tree = DecisionTreeClassifier(random_state=0).fit(x, y)
print(f"scikit-learn: {rows} x 40, 1 thread: fit {time.perf_counter() - start:.2f} s, "
      f"{tree.get_n_leaves()} leaves, depth {tree.get_depth()}")
PY
  done
done
