#!/usr/bin/env bash
# The whole pipeline on real measurements: collect, train, generate, compile, consult.
# Everything is written under the folder given first.
#
# On a GPU it decides whether to pad a matrix product; the library is cuBLAS on the operands as they are. On a
# processor padding does not pay, so it decides which kernel multiplies; the library is the better one of the
# crate gemm on one thread and on all threads, on each input.
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

if [ "$backend" = auto ]; then
  backend=cuda
  if ! reason=$("$bin/ah-collect" list --name pad_mm --backend cuda 2>&1 >/dev/null); then
    backend=cpu
    echo "measuring on the CPU: ${reason#error: --backend cuda: }" >&2
  fi
fi
case $backend in
  cuda) name=pad_mm baseline=orig ;;
  *) name=mm baseline=gemm_threads=1,gemm_threads=all ;;
esac

mkdir -p "$folder"
# Every run starts with new measurements.
rm -rf "$folder"/train.txt* "$folder/model.json" "$folder/generated"

step "1/4 collect: measuring $name into $folder/train.txt"
"$bin/ah-collect" --name "$name" --backend "$backend" --num-samples "$samples" --max-seconds "$seconds" \
  --seed "$seed" --output "$folder/train.txt"

step "2/4 train: learning SimpleHeuristic and generating its crate"
"$bin/ah-train" "$folder/train.txt" --heuristic-name SimpleHeuristic \
  --model "$folder/model.json" --out "$folder/generated" --runtime-path crates/ah-runtime --max-risk "$max_risk"

step "3/4 compile: the generated crate and a program that links it"
# The program is outside the workspace, because no tool may depend on a generated crate.
# It uses the workspace's lock file, so that nothing is resolved or built twice.
rm -rf "$folder/consult" && cp -r scripts/consult "$folder/consult" && cp Cargo.lock "$folder/consult/"
cargo build --release --quiet --manifest-path "$folder/consult/Cargo.toml" --target-dir "${CARGO_TARGET_DIR:-target}"

step "4/4 consult: fresh inputs, every choice measured"
"$bin/consult" --name "$name" --backend "$backend" --baseline "$baseline" --num-samples "$fresh" --seed "$((seed + 1000))"
