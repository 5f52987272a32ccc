#!/usr/bin/env bash
# Builds the wheel `autoheuristic` with the tools inside, and tries it as its user does: scripts/wheel.sh
#
# 1. Man pages and completions are made; maturin builds target/wheels/*.whl. On Linux, zig links it against an old glibc, so that it runs anywhere (manylinux).
# 2. The wheel is installed into an empty virtual environment. There, a table becomes a heuristic that answers.
# 3. `pip install ./python` from this checkout does the same in a second one.
set -euo pipefail
cd "$(dirname "$0")/.."

most=$((15 * 1024 * 1024)) # bytes
tools=target/wheel-tools
[ -x $tools/bin/maturin ] || { python3 -m venv $tools && $tools/bin/pip install --quiet 'maturin>=1.9,<2' ziglang; }
export PATH=$PWD/$tools/bin:$PATH
zig=()
[ "$(uname)" = Linux ] && zig=(--zig --compatibility manylinux_2_28)

make --silent completions
rm -rf target/wheels
(cd python && maturin build --quiet --release --locked --strip --out ../target/wheels "${zig[@]}")
wheel=$(echo target/wheels/*.whl)
size=$(wc -c < "$wheel")
echo "$(basename "$wheel"): $((size / 1024)) KiB"
[ "$size" -le $most ] || { echo "the wheel is larger than $most bytes"; exit 1; }
case $wheel in *-py3-none-*) ;; *) echo "expected a wheel for any Python 3 (py3-none), found $wheel"; exit 1 ;; esac

# use WHAT: installs it into an empty environment that is not activated, and goes from a table to a decision.
use() {
  local folder
  folder=$(mktemp -d)
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet "$1"
  {
    echo "n,way,ms"
    for n in $(seq 1 300); do
      echo "$n,loop,$n.5"
      echo "$n,table,100.25"
    done
  } > "$folder/times.csv"
  (
    # The tools are found beside the interpreter, not on PATH.
    cd "$folder"
    PATH=/usr/bin:/bin
    venv/bin/ah-collect --version
    venv/bin/ah-codegen --version
    ls venv/share/man/man1/ah-train-import.1 venv/share/bash-completion/completions/ah-collect.bash \
      venv/share/zsh/site-functions/_ah-codegen venv/share/fish/vendor_completions.d/ah-train.fish > /dev/null
    venv/bin/autoheuristic --help > /dev/null
    venv/bin/ah-train import times.csv --name ways --features n --choice way --time ms --unit ms -o log.txt --quiet
    venv/bin/ah-train log.txt --heuristic-name Ways --target python --quiet
    file=generated/ways.py
    venv/bin/python -c "
import importlib.util
spec = importlib.util.spec_from_file_location('ways', '$file')
ways = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ways)
assert (ways.choose(7), ways.choose(290)) == ('loop', 'table'), (ways.choose(7), ways.choose(290))
"
  )
  rm -rf "$folder"
  echo "$1: installed and used in an empty environment"
}
use "$PWD/$wheel"
use "$PWD/python"
