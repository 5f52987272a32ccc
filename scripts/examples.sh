#!/usr/bin/env bash
# Builds and tests examples/, and runs the programs on a few fresh inputs. scripts/generate.sh writes their heuristics.
set -euo pipefail
cd "$(dirname "$0")/.."

if python3 -c "import sklearn" 2> /dev/null; then
  (cd examples/nearest_neighbors && python3 judge.py 5)
else
  echo "SKIPPED: there is no scikit-learn, so examples/nearest_neighbors/judge.py was not run"
fi

if python3 -c "import numpy" 2> /dev/null; then
  (cd examples/numpy_isin && python3 judge.py --seconds 5 --processes 1)
else
  echo "SKIPPED: there is no numpy, so examples/numpy_isin/judge.py was not run"
fi

(cd examples/inductor_reduction && python3 judge.py fresh.csv.gz others.csv.gz)

(cd examples/aho_corasick && cargo fmt --all --check && cargo clippy --release --quiet --all-targets -- -D warnings)

if [ "${ARROW-}" = 1 ]; then
  (cd examples/arrow_selection && cargo fmt --all --check && cargo clippy --release --quiet -- -D warnings && cargo run --release --quiet -- list)
else
  echo "SKIPPED: examples/arrow_selection builds arrow for minutes; ARROW=1 builds it"
fi

if [ -n "${TRACT-}" ]; then
  python3 examples/tract_linalg/cost_model.py judge "$TRACT" --seeds 1
else
  echo "SKIPPED: examples/tract_linalg reads the timings in a checkout of tract; TRACT=FOLDER judges it"
fi

cd examples/faer_qr
cargo fmt --all --check
cargo clippy --release --quiet --all-targets --features measure -- -D warnings
cargo test --release --quiet --features measure
cargo run --release --quiet --features measure --bin measure -- list
cargo run --release --quiet --bin faer_qr -- 20
