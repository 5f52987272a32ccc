#!/usr/bin/env bash
# What a decision costs by the crate that is generated from a model of mixed_mm, and by the model file:
#   scripts/latency.sh MODEL
# Everything is written under target/latency.
set -euo pipefail
model=$(realpath "${1:?usage: scripts/latency.sh MODEL}")
cd "$(dirname "$0")/.."

folder=target/latency
rm -rf "$folder" && mkdir -p "$folder" && cp -r scripts/latency "$folder/program" && cp Cargo.lock "$folder/program/"
cargo run --release --quiet -p ah-codegen -- "$model" --out "$folder/generated" --runtime-path crates/ah-runtime >&2
name=$(basename "$folder"/generated/*/)
sed -i "s/HEURISTIC/$name/g" "$folder/program/Cargo.toml"
cargo run --release --quiet --manifest-path "$folder/program/Cargo.toml" --target-dir "${CARGO_TARGET_DIR:-target}" -- "$model"
