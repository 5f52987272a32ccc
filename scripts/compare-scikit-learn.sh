#!/usr/bin/env bash
# One fit of ah-train's learner and of scikit-learn's tree on the same matrix, one thread each, to
# unlimited depth and to depth 8: scripts/compare-scikit-learn.sh [ROWS...]
# Needs python3 with numpy and scikit-learn. `winners`: both learn one winner for each row. `times`: ours
# learns the cost of each choice, scikit-learn the winner. Held-out slowdown is the geometric mean of
# time / best time of the picked choices, on a quarter more rows. NOISE (0.2): the share of random winners.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p ah-train --example fit_scaling
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- 10000 100000
for rows in "$@"; do
  for targets in winners times; do
    for depth in 64 8; do
      target/release/examples/fit_scaling rows="$rows" targets=$targets depth=$depth noise="${NOISE:-0.2}" folder="$folder" |
        tee "$folder/ours.txt"
      OMP_NUM_THREADS=1 python3 - "$folder" "$rows" $targets $depth <<'PY'
import re, sys, time
import numpy as np
from sklearn.tree import DecisionTreeClassifier

folder, rows, targets, depth = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
every = rows + rows // 4
x = np.fromfile(f"{folder}/features.f32", "<f4").reshape(40, every).T.copy()
if targets == "times":
    cost = np.fromfile(f"{folder}/times.f32", "<f4").reshape(every, 22)
    y = cost.argmin(1)
else:
    y = np.fromfile(f"{folder}/winners.f32", "<f4").astype(int)
    cost = np.where(np.arange(22) == y[:, None], 0.0, 2.3)
start, processor = time.perf_counter(), time.process_time()
tree = DecisionTreeClassifier(max_depth=None if depth == 64 else depth, random_state=0).fit(x[:rows], y[:rows])
seconds, processor = time.perf_counter() - start, time.process_time() - processor
picked = tree.predict(x[rows:])
slowdown = np.exp(cost[np.arange(rows, every), picked].mean())
ours = open(f"{folder}/ours.txt").read()
our_processor = float(re.search(r"processor ([0-9.]+) s", ours)[1])
our_slowdown = float(re.search(r"slowdown ([0-9.]+)", ours)[1])
print(f"scikit-learn: {rows} x 40 ({targets}), 1 thread: fit {seconds:.3f} s (processor {processor:.2f} s), "
      f"{tree.get_n_leaves()} leaves, depth {tree.get_depth()}, held-out slowdown {slowdown:.4f}")
print(f"  ours / scikit-learn: processor time 1 / {processor / max(our_processor, 0.01):.1f}, "
      f"log slowdown {np.log(our_slowdown) / np.log(slowdown):.3f}", flush=True)
PY
    done
  done
done
