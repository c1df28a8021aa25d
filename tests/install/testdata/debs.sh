#!/bin/sh
# Installs the packages in a root with Open MPI's, uses both, and removes them: `debs.sh FOLDER
# PROGRAM.c`. Each line that it prints is a finding of the test, which compares all of them.
set -eu
debs=$1 program=$2
names="oshcc oshc++ oshcxx oshCC oshrun oshmem_info shmemrun"
work=$(mktemp -d)
cd "$work"
list() {
    for n in $names; do
        for f in "/usr/bin/$n" "/usr/share/man/man1/$n.1.gz"; do echo "$f $(readlink "$f" || test ! -e "$f" || sha256sum <"$f")"; done
    done
}
names_of() { (cd /usr/bin && readlink -m oshcc shmemrun); }
list >before
dpkg -i "$debs"/*.deb >log 2>&1 || { cat log; exit 1; }
echo "installed: $(names_of | xargs)"
oshcc "$program" -o ours
echo "ours: $(oshrun -n 2 ./ours | sort | head -n 1)"
shmem-perf --version
update-alternatives --quiet --set oshcc /usr/bin/oshcc.openmpi
echo "chosen: $(oshcc --showme:version | cut -d: -f1), $(readlink -m /usr/bin/oshcc)"
echo "still: $(/usr/lib/shmem-tools/bin/shmemrun -n 2 ./ours | sort | head -n 1)"
update-alternatives --quiet --auto oshcc
dpkg -i "$debs"/shmem-tools*.deb >log 2>&1 || { cat log; exit 1; } # as an upgrade does
echo "again: $(names_of | xargs)"
dpkg -r shmem-tools libshmem-dev libshmem0 >log 2>&1 || { cat log; exit 1; }
list >after
cmp before after && echo "removed: as before"
dpkg --verify openmpi-bin | grep -v '/doc/' || echo "openmpi-bin: whole"
echo "left: $(dpkg-divert --list | grep -c shmem-tools) diversions, $(find /etc/alternatives -name 'osh*' | wc -l) alternatives, $(find /usr -path '*shmem-tools*' | wc -l) files"
