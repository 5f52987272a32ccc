# shellcheck shell=bash disable=SC2154
# Sourced by test.sh: a Slurm cluster of the nodes n1 and n2 on this machine, in the folder $cluster.
# Everything runs as this user, with a munge of its own.

# Prints what is missing.
slurm_missing() {
  local program
  for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || { echo "$program is missing"; return; }
  done
}

cluster_start() {
  local me host
  me=$(id -un) host=$(hostname)
  export SLURM_CONF=$cluster/slurm.conf
  head -c 1024 /dev/urandom >"$cluster/munge.key"
  chmod 600 "$cluster/munge.key"
  munged --force --socket="$cluster/munge" --key-file="$cluster/munge.key" --pid-file="$cluster/munge.pid" \
    --log-file="$cluster/munge.log" --seed-file="$cluster/munge.seed" 2>/dev/null
  # cred_expire is also how long Slurm holds a requeued job back. SlurmdTimeout: a node that is silent for so long is down.
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17100
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$cluster/munge,cred_expire=5
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/linear
SlurmdTimeout=10
KillWait=5
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17101
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17102
PartitionName=test Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
  mkdir -p "$cluster/state" "$cluster/n1" "$cluster/n2"
  slurmctld -c
  node_start n1
  node_start n2
  wait_for 30 "sinfo --noheader --states=idle --format=%D 2>/dev/null | grep -qx 2"
}

node_start() { slurmd -N "$1"; }

# Ends a node as a power cut does: its daemon and all processes of its jobs at once.
node_kill() {
  local script sessions=""
  for script in $(pgrep -f "$cluster/$1/job"); do
    sessions+=" $(ps -o sess= -p "$script")"
  done
  # shellcheck disable=SC2046,SC2086 # Lists of numbers.
  kill -9 "$(<"$cluster/$1.pid")" $(for session in $sessions; do pgrep -s "$session"; done)
}

# Ends all daemons, and waits until they have: slurmctld writes its state once more.
cluster_stop() {
  local name pid pids=""
  for name in n1 n2 slurmctld munge; do
    if [ -f "$cluster/$name.pid" ]; then
      pid=$(<"$cluster/$name.pid")
      if kill "$pid" 2>/dev/null; then pids+=" $pid"; fi
    fi
  done
  for pid in $pids; do timeout 20 tail --pid="$pid" -f /dev/null || true; done
}

# wait_for SECONDS CONDITION
wait_for() {
  local end=$((SECONDS + $1))
  until eval "$2"; do
    [ $SECONDS -lt $end ] || { echo "error: not within $1 s: $2" >&2; return 1; }
    sleep 0.2
  done
}
