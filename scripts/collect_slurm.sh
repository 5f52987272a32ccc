#!/usr/bin/env bash
# One optimization on many machines of a Slurm cluster: each task measures its shard of one seeded
# sequence on all GPUs of its node. Submit it as an array; run it again to continue where it stopped.
#
#   sbatch --array=1-4 --gpus-per-node=4 scripts/collect_slurm.sh mm 6000 out/mm
#
# measures 6000 inputs, 1500 a task, into out/mm.1.txt to out/mm.4.txt, which ah-train reads
# together (it refuses logs of different devices and says why):
#
#   ah-train out/mm.*.txt --heuristic-name MmHeuristic
#
# Without Slurm, set SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT by hand.
set -euo pipefail

if [ $# -lt 3 ]; then
  echo "usage: $0 NAME NUM_SAMPLES OUTPUT_PREFIX [further flags of ah-collect]" >&2
  exit 2
fi
name=$1 samples=$2 prefix=$3
shift 3
task=${SLURM_ARRAY_TASK_ID:?set by sbatch --array=1-N} tasks=${SLURM_ARRAY_TASK_COUNT:?set by sbatch --array=1-N}
devices=$(nvidia-smi --query-gpu=index --format=csv,noheader | paste -sd, -)

exec "${AH_COLLECT:-ah-collect}" --name "$name" --backend cuda --devices "$devices" --shard "$task/$tasks" \
  --num-samples $(((samples + tasks - 1) / tasks)) --output "$prefix.$task.txt" "$@"
