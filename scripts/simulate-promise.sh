#!/usr/bin/env bash
# How often the promise breaks, over random partitions of logs: scripts/simulate-promise.sh LOG... [runs=100] [target=0.01]
# One row for each log and mode. crates/ah-train/examples/promise.rs explains the columns.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then sed -n '2,3s/^# //p' "$0" >&2; exit 2; fi
cargo build --release --quiet -p ah-train --example promise
for mode in cross-fitted by-dimensions; do
  target/release/examples/promise "$@" "mode=$mode"
done
