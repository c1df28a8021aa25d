#!/bin/sh
# An sshd on each of N hosts: sshd.sh DIR PREFIX N, which tests/daemons runs. PREFIX and a number from
# 1 to N name the network namespaces. It is the first process of a process namespace, so that
# everything ends with it.
set -eu
# shellcheck source=tests/daemons/start.sh
. ../daemons/start.sh
dir=$1
PATH=$PATH:/usr/sbin:/sbin
sshd=$(command -v sshd)

for host in $(seq "$3"); do
    # sshd wants a folder in /run. The users are those of the test. The text is the inner shell's.
    # shellcheck disable=SC2016
    watched "$dir/sshd-$host" nsenter --net="/run/netns/$2$host" unshare --uts --mount sh -ec '
        hostname "h$1"
        mount -t tmpfs none /run
        mkdir -m 755 /run/sshd
        mount --bind "$2/passwd" /etc/passwd
        mount -t tmpfs -o size=1m none "$2/small"
        mount -t tmpfs none "$2/roomy"
        exec "$3" -D -e -f "$2/sshd_config"' sh "$host" "$dir" "$sshd"
done
echo ready
cat >/dev/null
