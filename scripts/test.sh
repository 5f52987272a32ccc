#!/usr/bin/env bash
# Runs all tests. The last lines list what was skipped, with the reason and how often.
set -euo pipefail
cd "$(dirname "$0")/.."

log=target/test.log
mkdir -p target
: > $log
failed=no
cargo test --workspace --quiet --no-fail-fast 2>&1 | tee -a $log || failed=yes
if python3 -m pytest --version > /dev/null 2>&1; then
  for folder in python bench; do
    python3 -m pytest -q -rs $folder 2>&1 | tee -a $log || failed=yes
  done
else
  echo "skipped: pytest is missing (pip install pytest), so python/ and bench/ are not tested" | tee -a $log
fi

# Each says what it misses where it cannot run.
for check in scripts/slurm/test.sh scripts/kubernetes/check.py; do
  $check 2>&1 | tee -a $log || failed=yes
done

passed=$(grep -oE '(^|[^:0-9])[0-9]+ passed' $log | grep -oE '[0-9]+' | awk '{ n += $1 } END { print n + 0 }') # No time of day.
skips=$(grep -oE '(^|[^a-z])skipped: .*|^SKIPPED .*' $log | sed -E 's/^[^a-zS]//' | sort | uniq -c | sort -rn || true)
echo
echo "$passed tests passed."
if [ -n "$skips" ]; then
  echo "Skipped (times, reason):"
  echo "$skips"
else
  echo "Nothing was skipped."
fi
[ $failed = no ]
