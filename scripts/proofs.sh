#!/usr/bin/env bash
# The slow proofs, to run before a release: scripts/proofs.sh
# Each takes minutes: hundreds of kills and races, promises where the truth is known, a Slurm cluster whose nodes die, and the
# wheel in an empty environment.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()
step() {
  local what=$1 begin=$SECONDS
  shift
  "$@" || failed+=("$what")
  echo "$what: $((SECONDS - begin)) s"
}
# The tests start the tools and the examples.
cargo build --workspace --bins --examples --quiet
step "tests that take minutes" cargo test --workspace --quiet --no-fail-fast --test it -- --ignored
# Seven minutes each on two cores. Of inputs in copies, 1,200 are too few to promise 1 %.
known_truth() { cargo run --release --quiet -p ah-train --example known_truth -- runs=20 "$@"; }
step "promises where the truth is known" known_truth target=0.01
step "promises beside copies" known_truth target=0.05 inputs=4800 cases=copies,copies_of_two,grids,pairs,types,dimensions
step "Slurm" scripts/slurm/test.sh
step "the wheel, built and used" scripts/wheel.sh
step "generated/ follows from data/" scripts/generate.sh --check
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
