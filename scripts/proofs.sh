#!/usr/bin/env bash
# The slow proofs, to run before a release: scripts/proofs.sh
# Each is a test that takes a minute or more: hundreds of kills and races, and the wheel in an empty environment.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()
step() {
  local what=$1 begin=$SECONDS
  shift
  "$@" || failed+=("$what")
  echo "$what: $((SECONDS - begin)) s"
}
step "tests that take minutes" cargo test --workspace --quiet --no-fail-fast --test it -- --ignored
step "the wheel, built and used" scripts/wheel.sh
step "generated/ follows from data/" scripts/generate.sh --check
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
