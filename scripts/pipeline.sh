#!/usr/bin/env bash
# The whole pipeline on real measurements: collect, train, generate, compile, consult.
# Everything is written under the folder given first.
#
# --name pad_mm, mm or softmax measures a shipped decision. --name distinct measures the three functions of the book's
# tutorial. auto is pad_mm on a GPU. On a processor it is distinct, because there the best choice depends on the input on
# every machine; products and softmax gain little over the best single kernel.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1; shift
samples=12000 seconds=60 fresh=200 seed=1 backend=auto name=auto max_risk=0.05
while [ $# -gt 0 ]; do
  case $1 in
    --samples) samples=$2 ;; --seconds) seconds=$2 ;; --fresh) fresh=$2 ;; --name) name=$2 ;;
    --seed) seed=$2 ;; --backend) backend=$2 ;; --max-risk) max_risk=$2 ;;
    *) echo "error: unknown option $1; see the head of scripts/pipeline.sh" >&2; exit 2 ;;
  esac
  shift 2
done

target=${CARGO_TARGET_DIR:-target}
bin=$target/release
step() { printf '\n== %s\n' "$*" >&2; }

if [ "$backend" = auto ] && [ "$name" != distinct ]; then
  backend=cuda
  if ! reason=$("$bin/ah-collect" list --name pad_mm --backend cuda 2>&1 >/dev/null); then
    backend=cpu
    reason=${reason#error: }
    echo "measuring on the CPU: ${reason#--backend cuda: }" >&2
  fi
fi
[ "$name" != auto ] || { [ "$backend" = cuda ] && name=pad_mm || name=distinct; }
if [ "$name" = distinct ]; then
  # With the workspace's lock file, so that nothing is resolved twice; its own would be an untracked file.
  cp Cargo.lock scripts/distinct/
  cargo build --release --quiet --manifest-path scripts/distinct/Cargo.toml --target-dir "$target"
  collect=("$bin/distinct")
else
  collect=("$bin/ah-collect" --name "$name" --backend "$backend")
fi

echo "This takes about $((seconds + seconds / 4 + 40)) s: $seconds s of measuring, learning, compiling the heuristic," \
  "and at most $((seconds / 4)) s on fresh inputs. A busy machine takes up to twice as long." >&2

mkdir -p "$folder"
# Every run starts with new measurements.
rm -rf "$folder"/{train,fresh}.txt* "$folder/model.json" "$folder/generated"

step "1/4 collect: measuring $name into $folder/train.txt"
"${collect[@]}" --num-samples "$samples" --max-seconds "$seconds" --seed "$seed" --output "$folder/train.txt"

step "2/4 train: learning SimpleHeuristic and generating its crate"
"$bin/ah-train" "$folder/train.txt" --heuristic-name SimpleHeuristic \
  --model "$folder/model.json" --out "$folder/generated" --runtime-path "$PWD/crates/ah-runtime" --max-risk "$max_risk"

step "3/4 compile: the generated crate and a program that links it"
# The program is outside the workspace, because no tool may depend on a generated crate.
# It uses the workspace's lock file, so that nothing is resolved twice.
rm -rf "$folder/consult" && cp -r scripts/consult "$folder/consult" && cp Cargo.lock "$folder/consult/"
cargo build --release --manifest-path "$folder/consult/Cargo.toml" --target-dir "$target"

step "4/4 consult: every choice on fresh inputs into $folder/fresh.txt, then the program"
"${collect[@]}" --num-samples "$fresh" --max-seconds "$((seconds / 4))" --seed "$((seed + 1000))" --output "$folder/fresh.txt" >&2
"$bin/consult" "$folder/fresh.txt"
