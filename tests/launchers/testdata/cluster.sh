#!/bin/sh
# A Slurm cluster of two nodes, a and b, on this machine: cluster.sh DIR PORT PORT PORT, which
# tests/daemons runs. It is the first process of a process namespace, so that everything ends
# with it.
set -eu
# shellcheck source=tests/daemons/start.sh
. ../daemons/start.sh
dir=$1
PATH=$PATH:/usr/sbin:/sbin
here=$(hostname -s)

# Host names must resolve, and munge's daemon must be where its library looks: both only for the
# processes of the cluster.
{
    cat /etc/hosts
    echo "127.0.0.2 a"
    echo "127.0.0.3 b"
} >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts
mount -t tmpfs none /run
mkdir /run/munge
ln -s "$dir/munge.sock" /run/munge/munge.socket.2

mkdir "$dir/state" "$dir/tmp-a" "$dir/tmp-b"

# The secret that the nodes share. Below /tmp munged needs an option that allows it.
head -c 1024 /dev/urandom >"$dir/munge.key"
chmod 400 "$dir/munge.key"
watched "$dir/munged" munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" \
    --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" --seed-file="$dir/seed"

cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$here(127.0.0.1)
SlurmctldPort=$2
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$dir/munge.sock
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
SlurmdSpoolDir=$dir/spool-%n
TmpFS=$dir/tmp-%n
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldPidFile=$dir/slurmctld.pid
StateSaveLocation=$dir/state
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
KillWait=2
MpiParams=ports=64000-64999
NodeName=a NodeHostname=$here NodeAddr=127.0.0.1 Port=$3 CPUs=64
NodeName=b NodeHostname=$here NodeAddr=127.0.0.1 Port=$4 CPUs=64
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 State=UP
CONF
export SLURM_CONF="$dir/slurm.conf"

while ! [ -S "$dir/munge.sock" ]; do sleep 0.05; done
watched "$dir/slurmctld" slurmctld -D
watched "$dir/slurmd-a" unshare --uts sh -c 'hostname nodea; exec slurmd -D -N a'
watched "$dir/slurmd-b" unshare --uts sh -c 'hostname nodeb; exec slurmd -D -N b'
until [ "$(sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | tr -d '\n')" = ab ]; do sleep 0.1; done
echo ready
read -r _ || true
