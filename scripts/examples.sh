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

cargo build --release --quiet --bin ah-train --bin ah-codegen
bin=${CARGO_TARGET_DIR:-target}/release
out=target/examples
rm -rf "$out" && mkdir -p "$out"

# The same flags are in examples/faer_qr/README.md.
"$bin/ah-train" examples/faer_qr/train.txt.gz --heuristic-name QrBlocking --max-risk 0.03 \
  --model "$out/model.json" --out "$out" > "$out/figures.txt"
if [ $write = yes ]; then
  rm -rf examples/faer_qr/qr_blocking
  cp -r "$out/qr_blocking" examples/faer_qr/
  cat "$out/figures.txt"
elif ! diff -ru -x Cargo.lock -x target examples/faer_qr/qr_blocking "$out/qr_blocking"; then
  echo "error: examples/faer_qr/qr_blocking does not follow from its log; run scripts/examples.sh --write" >&2
  exit 1
fi

# The same flags are in examples/nearest_neighbors/README.md.
"$bin/ah-train" examples/nearest_neighbors/train.txt.gz --heuristic-name nearest_neighbors --target python --max-risk 0.1 --size smallest \
  --model "$out/model.json" --no-codegen > "$out/figures.txt"
"$bin/ah-codegen" "$out/model.json" --target python --out "$out" --quiet
if [ $write = yes ]; then
  cp "$out/nearest_neighbors.py" examples/nearest_neighbors/
  cat "$out/figures.txt"
elif ! diff -u examples/nearest_neighbors/nearest_neighbors.py "$out/nearest_neighbors.py"; then
  echo "error: examples/nearest_neighbors/nearest_neighbors.py does not follow from its log; run scripts/examples.sh --write" >&2
  exit 1
fi
if python3 -c "import sklearn" 2> /dev/null; then
  (cd examples/nearest_neighbors && python3 judge.py 5)
else
  echo "SKIPPED: there is no scikit-learn, so examples/nearest_neighbors/judge.py was not run"
fi

(cd examples/aho_corasick && cargo fmt --all --check && cargo clippy --release --quiet --all-targets -- -D warnings)

cd examples/faer_qr
cargo fmt --all --check
cargo clippy --release --quiet --all-targets --features measure -- -D warnings
cargo test --release --quiet --features measure
cargo run --release --quiet --features measure --bin measure -- list
cargo run --release --quiet --bin faer_qr -- 20
