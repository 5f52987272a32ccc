#!/usr/bin/env bash
# Learns a heuristic from each log of an H200 under data/ and generates its crate under generated/: one tree each, the smallest
# that loses at most 0.2 % more than the best. People can read it, and it decides in 30 ns (scripts/decision_time.py).
# `--check` writes nothing there. It fails with the difference if generated/ does not follow byte for byte from data/.
set -euo pipefail
cd "$(dirname "$0")/.."

out=generated
check=no
case ${1-} in
  --check) check=yes; out=target/check-generated; rm -rf "$out" ;;
  "") ;;
  *) echo "error: expected --check or nothing, found $1" >&2; exit 2 ;;
esac

cargo build --release --quiet --bin ah-train
bin=${CARGO_TARGET_DIR:-target}/release

# data/pad_mm/h200.txt.gz becomes PadMmH200.
name() { echo "$1_$2" | sed -E 's/(^|_)([a-z0-9])/\U\2/g'; }

shopt -s nullglob
stale=0
for log in data/*/h200.txt.gz; do
  optimization=$(basename "$(dirname "$log")") device=$(basename "$log" .txt.gz)
  heuristic=$(name "$optimization" "$device") crate="${optimization}_$device"
  echo "$log -> $out/$crate" >&2
  "$bin/ah-train" "$log" --heuristic-name "$heuristic" --learner cost_tree --size 0.2% --out "$out" --model "$out/$crate.model.json" > "$out.$crate.table" \
    || { echo "error: ah-train failed on $log" >&2; exit 1; }
  if [ $check = yes ]; then
    diff -ru -x Cargo.lock -x target "generated/$crate" "$out/$crate" || stale=1
    diff -u "generated/$crate.model.json" "$out/$crate.model.json" | head -40 || true
    cmp -s "generated/$crate.model.json" "$out/$crate.model.json" || stale=1
  else
    cat "$out.$crate.table"
  fi
  rm -f "$out.$crate.table"
done
if [ $stale = 1 ]; then
  echo "error: generated/ does not follow from data/; run scripts/generate.sh and commit what changes" >&2
  exit 1
fi
