#!/usr/bin/env bash
# Builds and tests examples/, proves that the generated crates there follow byte for byte from their logs, and runs
# the programs on a few fresh inputs. `--write` learns and generates again instead of comparing.
set -euo pipefail
cd "$(dirname "$0")/.."

write=no
case ${1-} in
  --write) write=yes ;;
  "") ;;
  *) echo "error: expected --write or nothing, found $1" >&2; exit 2 ;;
esac

cargo build --release --quiet --bin ah-train
bin=${CARGO_TARGET_DIR:-target}/release
out=target/examples
rm -rf "$out" && mkdir -p "$out"

# The same flags are in examples/faer_qr/README.md.
"$bin/ah-train" examples/faer_qr/train.txt.gz --heuristic-name QrBlocking --max-risk 0.005 --max-leaves 400 \
  --model "$out/model.json" --out "$out" > "$out/figures.txt"
if [ $write = yes ]; then
  rm -rf examples/faer_qr/qr_blocking
  cp -r "$out/qr_blocking" examples/faer_qr/
  cat "$out/figures.txt"
elif ! diff -ru -x Cargo.lock -x target examples/faer_qr/qr_blocking "$out/qr_blocking"; then
  echo "error: examples/faer_qr/qr_blocking does not follow from its log; run scripts/examples.sh --write" >&2
  exit 1
fi

cd examples/faer_qr
cargo fmt --all --check
cargo clippy --release --quiet --all-targets --features measure -- -D warnings
cargo test --release --quiet --features measure
cargo run --release --quiet --features measure --bin measure -- list
cargo run --release --quiet --bin faer_qr -- 20
