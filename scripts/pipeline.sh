#!/usr/bin/env bash
# The whole way of the data, on real measurements: collect, train, generate, compile, consult.
# Everything is written under the folder given first.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1; shift
samples=12000 seconds=60 fresh=24 seed=1 backend=auto max_risk=0.05
while [ $# -gt 0 ]; do
  case $1 in
    --samples) samples=$2 ;; --seconds) seconds=$2 ;; --fresh) fresh=$2 ;;
    --seed) seed=$2 ;; --backend) backend=$2 ;; --max-risk) max_risk=$2 ;;
    *) echo "error: unknown option $1; see the head of scripts/pipeline.sh" >&2; exit 2 ;;
  esac
  shift 2
done

bin=${CARGO_TARGET_DIR:-target}/release
step() { printf '\n== %s\n' "$*" >&2; }

mkdir -p "$folder"
# A pipeline measures afresh: what an earlier run left is its own.
rm -rf "$folder"/train.txt* "$folder/model.json" "$folder/generated"

step "1/4 collect: measuring pad_mm into $folder/train.txt"
"$bin/ah-collect" --name pad_mm --backend "$backend" --num-samples "$samples" --max-seconds "$seconds" \
  --seed "$seed" --output "$folder/train.txt"

step "2/4 train: learning SimpleHeuristic and generating its crate"
"$bin/ah-train" "$folder/train.txt" --heuristic-name SimpleHeuristic \
  --model "$folder/model.json" --out "$folder/generated" --runtime-path crates/ah-runtime --max-risk "$max_risk"

step "3/4 compile: the generated crate and a program that links it"
# The program stands outside the workspace, because no tool may depend on a generated crate.
# It takes over the workspace's lock file, so that nothing is resolved or built twice.
rm -rf "$folder/consult" && cp -r scripts/consult "$folder/consult" && cp Cargo.lock "$folder/consult/"
cargo build --release --quiet --manifest-path "$folder/consult/Cargo.toml" --target-dir "${CARGO_TARGET_DIR:-target}"

step "4/4 consult: fresh inputs, every choice measured"
"$bin/consult" --backend "$backend" --num-samples "$fresh" --seed "$((seed + 1000))"
