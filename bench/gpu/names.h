/*
 * names.h: the library that the programs of figures in this folder measure. They are programs of
 * libshmem; with BENCH_NVSHMEM defined, libshmem's names stand for NVSHMEM's, which have "nv" in
 * front. Nothing else may differ between the two builds.
 */
#ifndef BENCH_GPU_NAMES_H
#define BENCH_GPU_NAMES_H

#ifdef BENCH_NVSHMEM

#include <nvshmem.h>
#include <nvshmemx.h>

#define BENCH_SYSTEM "nvshmem"

#define SHMEM_SIGNAL_SET NVSHMEM_SIGNAL_SET
#define SHMEM_CMP_GE NVSHMEM_CMP_GE
#define SHMEM_TEAM_WORLD NVSHMEM_TEAM_WORLD

#define shmem_my_pe nvshmem_my_pe
#define shmem_n_pes nvshmem_n_pes
#define shmem_finalize nvshmem_finalize
#define shmem_global_exit nvshmem_global_exit
#define shmem_malloc nvshmem_malloc
#define shmem_free nvshmem_free
#define shmem_barrier_all nvshmem_barrier_all
#define shmemx_barrier_all_warp nvshmemx_barrier_all_warp
#define shmemx_barrier_all_block nvshmemx_barrier_all_block
#define shmem_sync_all nvshmem_sync_all
#define shmemx_sync_all_warp nvshmemx_sync_all_warp
#define shmemx_sync_all_block nvshmemx_sync_all_block
#define shmem_quiet nvshmem_quiet
#define shmem_fence nvshmem_fence
#define shmem_uint64_p nvshmem_uint64_p
#define shmem_uint64_g nvshmem_uint64_g
#define shmem_uint64_atomic_fetch_add nvshmem_uint64_atomic_fetch_add
#define shmem_uint64_atomic_add nvshmem_uint64_atomic_add
#define shmem_putmem nvshmem_putmem
#define shmemx_putmem_warp nvshmemx_putmem_warp
#define shmemx_putmem_block nvshmemx_putmem_block
#define shmem_putmem_nbi nvshmem_putmem_nbi
#define shmemx_putmem_nbi_warp nvshmemx_putmem_nbi_warp
#define shmemx_putmem_nbi_block nvshmemx_putmem_nbi_block
#define shmem_getmem nvshmem_getmem
#define shmemx_getmem_warp nvshmemx_getmem_warp
#define shmemx_getmem_block nvshmemx_getmem_block
#define shmem_putmem_signal nvshmem_putmem_signal
#define shmemx_putmem_signal_warp nvshmemx_putmem_signal_warp
#define shmemx_putmem_signal_block nvshmemx_putmem_signal_block
#define shmemx_putmem_signal_nbi_warp nvshmemx_putmem_signal_nbi_warp
#define shmemx_signal_op nvshmemx_signal_op
#define shmem_signal_wait_until nvshmem_signal_wait_until
#define shmemx_putmem_on_stream nvshmemx_putmem_on_stream
#define shmemx_quiet_on_stream nvshmemx_quiet_on_stream
#define shmemx_barrier_all_on_stream nvshmemx_barrier_all_on_stream
#define shmemx_float_sum_reduce_on_stream nvshmemx_float_sum_reduce_on_stream
#define shmemx_float_alltoall_on_stream nvshmemx_float_alltoall_on_stream
#define shmemx_float_alltoall_block nvshmemx_float_alltoall_block

#else

#include <shmem/shmem.cuh>

#define BENCH_SYSTEM "libshmem"

#endif
#endif
