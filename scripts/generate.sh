#!/usr/bin/env bash
# Learns a heuristic from each log of an H200 under data/ and generates its crate under generated/: one tree each, the smallest
# that loses at most 0.2 % more than the best. People can read it, and it decides in 30 ns (scripts/decision_time.py). So do
# the heuristics of examples/ follow from their logs; the same flags are in their READMEs.
# `--check` writes nothing there. It fails with the difference if one does not follow byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."

check=no
case ${1-} in
  --check) check=yes ;;
  "") ;;
  *) echo "error: expected --check or nothing, found $1" >&2; exit 2 ;;
esac

# AH_TRAIN names a build that is there; those of all profiles generate the same bytes.
train=${AH_TRAIN:-${CARGO_TARGET_DIR:-target}/release/ah-train}
[ -n "${AH_TRAIN-}" ] || cargo build --release --quiet --bin ah-train
out=target/generate
rm -rf $out && mkdir -p $out

stale=0
# follow LOG NAME FILE FLAG…: learns NAME, and compares or replaces FILE, which is a crate or a module. Each has a model file of
# its own: where one exists, ah-train notes how the call changes.
follow() {
  local log=$1 name=$2 file=$3 place
  shift 3
  case $file in *.rs) place="--into $out/$(basename "$file")" ;; *) place="--out $out" ;; esac
  echo "$log -> $file" >&2
  "$train" "$log" --heuristic-name "$name" $place --model "$out/$(basename "$file").model.json" "$@" > $out/table \
    || { echo "error: ah-train failed on $log" >&2; exit 1; }
  if [ $check = yes ]; then
    diff -ru -x Cargo.lock -x target "$file" "$out/$(basename "$file")" | head -60 || stale=1
  else
    rm -rf "$file"
    cp -r "$out/$(basename "$file")" "$file"
    cat $out/table
  fi
}

# data/pad_mm/h200.txt.gz becomes PadMmH200.
name() { echo "$1_$2" | sed -E 's/(^|_)([a-z0-9])/\U\2/g'; }
for log in data/*/h200.txt.gz; do
  crate=$(basename "$(dirname "$log")")_$(basename "$log" .txt.gz)
  follow "$log" "$(name "${crate%_*}" "${crate##*_}")" generated/"$crate" --learner cost_tree --size 0.2%
  if [ $check = no ]; then
    cp "$out/$crate.model.json" generated/
  elif ! cmp "generated/$crate.model.json" "$out/$crate.model.json"; then
    diff -u "generated/$crate.model.json" "$out/$crate.model.json" | head -40 || stale=1
  fi
done
follow examples/faer_qr/train.txt.gz QrBlocking examples/faer_qr/qr_blocking --max-risk 0.03
follow examples/nearest_neighbors/train.txt.gz nearest_neighbors examples/nearest_neighbors/nearest_neighbors.py \
  --target python --max-risk none --size smallest
follow examples/numpy_isin/train.txt.gz isin_way examples/numpy_isin/isin_way.py \
  --target python --learner cost_tree --max-leaves 6 --max-risk 0.005 --max-slowdown 1.5 --feature-ns n=25,tests=25,span=0,itemsize=25
follow examples/inductor_reduction/train.txt.gz reduction_way examples/inductor_reduction/reduction_way.py \
  --target python --optimization examples/inductor_reduction/reduction.toml
follow examples/arrow_selection/train.txt.gz selection_strategy examples/arrow_selection/selection_strategy.rs \
  --learner cost_tree --max-leaves 16 --exclude nullable --exclude dictionary
follow examples/aho_corasick/train.txt.gz aho_corasick_kind examples/aho_corasick/kind.rs \
  --learner cost_tree --objective total --max-risk none
if [ $stale = 1 ]; then
  echo "error: what is committed does not follow from its logs; run scripts/generate.sh and commit what changes" >&2
  exit 1
fi
