#!/usr/bin/env bash
# Tests scripts/collect.sbatch on a real Slurm cluster of two nodes on this machine: a node is killed, jobs run out of
# time, and a disk is full. About four minutes, nearly all of it waiting. It measures the fake device.
#
#   scripts/slurm/test.sh [--install]     --install: apt-get install slurm-wlm munge, as root
#
# KEEP=1 keeps the folder with all logs. AH_COLLECT, AH_TRAIN and AH_FAKE (the example `fake` of ah-collect): the programs,
# built here unless they are given.
# shellcheck disable=SC2016 # wait_for evaluates its condition again and again.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/slurm/cluster.sh

if [ "${1:-}" = --install ]; then
  apt-get install --yes --quiet --no-install-recommends slurm-wlm munge
fi
if missing=$(slurm_missing) && [ -n "$missing" ]; then
  echo "skipped: $missing (scripts/slurm/test.sh --install), so scripts/collect.sbatch is not tested"
  exit 0
fi
if [ -z "${AH_COLLECT:-}" ] || [ -z "${AH_TRAIN:-}" ]; then
  cargo build --quiet --bin ah-collect --bin ah-train --example fake
  bin=$PWD/${CARGO_TARGET_DIR:-target}/debug
  export AH_COLLECT=$bin/ah-collect AH_TRAIN=$bin/ah-train AH_FAKE=$bin/examples/fake
fi
cluster=$(mktemp -d /tmp/ah-slurm.XXXXXX)
disk=$cluster/disk
finish() {
  cluster_stop
  mountpoint --quiet "$disk" && umount "$disk"
  if [ -n "${KEEP:-}" ]; then echo "kept: $cluster"; else rm -rf "$cluster"; fi
}
trap finish EXIT
tasks=3 draws=150
say() { printf '%(%T)T %s\n' -1 "$*"; }
fail() {
  echo "error: $*" >&2
  tail -n 20 "$cluster"/*/*.out >&2 || true
  exit 1
}

# submit FOLDER PACE: sets `array` and `last`.
submit() {
  read -r array last < <(AH_FAKE_PACE_US=$2 scripts/collect.sbatch submit $tasks fake $draws "$1" --worker "$AH_FAKE")
  say "submitted array $array and job $last"
}
state_of() { scontrol show job "$1" 2>/dev/null | grep -oP 'JobState=\K\w+' | sort -u | paste -sd, ; }
# The times of the noisy choice depend on how many samples fit into the budget.
rows() { tail -q -n +3 "$@" | sed 's/,noisy,.*/,noisy/' | sort; }
# Every input once, and the same rows as one machine measures.
expect_whole() {
  wait_for 400 '[[ $(state_of "$last") =~ ^(COMPLETED|FAILED|CANCELLED) ]]' || fail "the last job did not end"
  [ "$(state_of "$last")" = COMPLETED ] || fail "the last job is $(state_of "$last")"
  [ -s "$1/model.json" ] || fail "no model was learned"
  cmp <(rows "$cluster/one.txt") <(rows "$1"/fake.*-of-$tasks.txt) || fail "the logs in $1 differ from the log of one machine"
  say "the same rows as on one machine"
}

say "one machine measures $draws draws"
AH_FAKE_PACE_US=1 "$AH_COLLECT" --worker "$AH_FAKE" --draws $draws --output "$cluster/one.txt" 2>/dev/null
cluster_start
say "cluster: $(sinfo --noheader --format='%N %T')"

say "== a node is killed"
killed=$cluster/killed
submit "$killed" 4000
wait_for 60 '[ "$(squeue --noheader --nodelist=n2 --states=RUNNING --format=%i)" != "" ]'
victim=$(squeue --noheader --nodelist=n2 --states=RUNNING --format=%K)
log=$killed/fake.$victim-of-$tasks.txt
wait_for 60 '[ "$(wc -l <"$log" 2>/dev/null || echo 0)" -gt 300 ]' || fail "task $victim measures nothing"
node_kill n2
say "killed n2 with task $victim after $(($(wc -l <"$log") - 2)) rows"
wait_for 120 '[ "$(squeue --noheader --jobs="${array}_$victim" --format=%t)" = PD ]' || fail "task $victim was not requeued"
say "Slurm requeued task $victim: $(sinfo --noheader --format='%N %T' | paste -sd ' ')"
node_start n2
expect_whole "$killed"
grep -h "^task\|holds\|measured" "$killed/collect.$victim.out"
grep -q "start 2" "$killed/collect.$victim.out" || fail "task $victim was not started again"

say "== jobs run out of time"
late=$cluster/late
SBATCH_TIMELIMIT=1 SBATCH_SIGNAL=B:USR1@10 submit "$late" 30000
expect_whole "$late"
grep -h "^task\|out of time" "$late"/collect.*.out
grep -q "out of time: requeued" "$late"/collect.*.out || fail "no job ran out of time"

say "== a disk is full"
if ! { mkdir "$disk" && mount -t tmpfs -o size=48k tmpfs "$disk" 2>/dev/null; }; then
  echo "skipped: mounting a small disk needs root, so a full disk is not tested"
else
  submit "$disk" 1
  wait_for 60 '[[ $(state_of "$last") =~ ^(COMPLETED|FAILED|CANCELLED) ]]' || fail "the last job still waits"
  [ "$(state_of "$last")" = CANCELLED ] || fail "the last job is $(state_of "$last"), expected CANCELLED"
  grep -h "^error: " "$disk"/collect.*.out | head -n 3
  grep -qi "no space left" "$disk"/collect.*.out || fail "no task names the full disk"
  "$AH_COLLECT" report "$disk"/fake.*-of-$tasks.txt >/dev/null ||
    fail "the logs on the full disk are not whole"
  mount -o remount,size=16m "$disk"
  say "made room; the same command again"
  submit "$disk" 1
  expect_whole "$disk"
fi
say "passed"
