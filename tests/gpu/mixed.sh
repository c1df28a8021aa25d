#!/usr/bin/env bash
# Runs a program as one PE of a job whose PEs see different GPUs:
#
#   shmemrun -n 3 tests/gpu/mixed.sh '* 1 -' PROGRAM [ARGUMENTS]
#
# One word for each PE: its GPUs, in the form of CUDA_VISIBLE_DEVICES;
# * for all, - for none.
set -u
read -ra gpus <<<"$1"
pe=${SHMEM_LAUNCHER_PE:?start this by shmemrun}
shift
case ${gpus[pe]:?there is no word for PE $pe} in
'*') ;;
-) export CUDA_VISIBLE_DEVICES= ;;
*) export CUDA_VISIBLE_DEVICES=${gpus[pe]} ;;
esac
exec "$@"
