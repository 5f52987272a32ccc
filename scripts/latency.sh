#!/usr/bin/env bash
# Times a decision of mixed_mm or pad_mm, by the crate generated from a model and by the model file, and
# checks that neither allocates. Fails if a median misses its target.
#   scripts/latency.sh [MODEL...]     (without one: those under generated/)
# Everything is written under target/latency.
set -euo pipefail
for model in "$@"; do models+=("$(realpath "$model")"); done
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || models=("$PWD"/generated/{mixed_mm,pad_mm}_h200.model.json)

missed=0
for model in "${models[@]}"; do
  folder=target/latency/$(basename "$model" .model.json)
  rm -rf "$folder" && mkdir -p "$folder" && cp -r scripts/latency "$folder/program" && cp Cargo.lock "$folder/program/"
  cargo run --release --quiet -p ah-codegen -- "$model" --out "$folder/generated" --with runtime --force >&2
  name=$(basename "$folder"/generated/*/)
  sed -i "s/HEURISTIC/$name/g" "$folder/program/Cargo.toml"
  cargo build --release --quiet --manifest-path "$folder/program/Cargo.toml" --target-dir target/latency/build
  cp target/latency/build/release/latency "$folder/latency"
  "$folder/latency" "$model" || missed=1
done
exit $missed
