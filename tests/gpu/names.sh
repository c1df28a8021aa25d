#!/usr/bin/env bash
# names.sh BASE SURFACE [ARGUMENT...]: runs the programs whose kernels call each name of a surface,
# shmem or nvshmem, as 2 PEs with these arguments of the launcher, and checks that they called all
# names of the table.
set -u
base=$1 surface=$2 prefix=''
shift 2
programs=(rma strided atomics waits colls singles)
if [ "$surface" = shmem ]; then
    programs+=(eager notify)
else
    prefix=$surface- programs+=(scatter)
fi
called=$(mktemp) && list=$(mktemp) && wrong=$(mktemp) || exit
trap 'rm -f "$called" "$list" "$wrong"' EXIT
export CALLED=$called
status=0
for program in "${programs[@]}"; do
    "$base/bin/shmemrun" -n 2 --timeout 300 "$@" "$base/cuda/$prefix$program" || status=1
done
"$base/bin/shmemrun" -n 2 --timeout 60 "$@" "$base/cuda/${prefix}singles" exit
ended=$?
[ $ended -eq 7 ] || {
    echo "singles: the job that a kernel ends with 7 ends with $ended"
    status=1
}
sort -u -o "$called" "$called"
sed '/^#/d; s/ alike$//' "$base/names-$surface" | sort -u >"$list"
comm -13 "$called" "$list" | sed 's/^/no program calls /' >"$wrong"
comm -23 "$called" "$list" | sed 's/^/the table has no /' >>"$wrong"
cat "$wrong"
echo "$surface: $(wc -l <"$called") names called, $(wc -l <"$list") in the table"
[ $status -eq 0 ] && [ ! -s "$wrong" ] && [ -s "$list" ] && echo "1 passed, 0 failed"
