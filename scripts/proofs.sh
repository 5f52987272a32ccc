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
# Ten minutes on two cores.
step "promises where the truth is known" cargo run --release --quiet -p ah-train --example known_truth -- runs=20
step "Slurm" scripts/slurm/test.sh
step "the wheel, built and used" scripts/wheel.sh
step "generated/ follows from data/" scripts/generate.sh --check
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
