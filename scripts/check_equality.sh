#!/usr/bin/env bash
# Learns heuristics from every published log (../shared/data, if it exists) and every log under
# data/, builds them as Rust, PyTorch and C, and compares all with the models, bit by bit:
#   scripts/check_equality.sh [TIMES]
# It also compares TIMES (default 1) as many random models as `make test` does.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/equality
rm -rf "$folder" && mkdir -p "$folder"
cargo build --release --quiet --bin ah-train
shopt -s nullglob
# Beside the checkout, or beside the repository of this worktree.
logs=(../shared/data/*.txt.gz ../../shared/data/*.txt.gz data/*/*.txt.gz)
for log in "${logs[@]}"; do
  name=$(echo "$log" | sed "s/.*shared.data.//" | tr '/.' '__')
  for way in "" "--learner cost_tree"; do
    # shellcheck disable=SC2086
    "${CARGO_TARGET_DIR:-target}/release/ah-train" "$log" --heuristic-name "$name" $way --no-codegen \
      --model "$folder/$name$(echo "$way" | tr -d ' -').json" > /dev/null 2>&1 \
      || echo "passed over: ah-train cannot learn from $log with '$way'" >&2
  done
done
echo "$(ls "$folder" | wc -l) models from ${#logs[@]} logs"
AH_MODELS=$PWD/$folder AH_CASES=${1-1} cargo test --quiet -p ah-codegen --test it -- equality:: --nocapture 2>&1 |
  grep --line-buffered -E "mismatches|skipped|test result|panicked"
