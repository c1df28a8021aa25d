/*
 * barrier: barriers and syncs of kernels of two PEs, one after the other.
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const int launches = 8; // the first is not counted
const int n = 2000;

template <scope S> __device__ __forceinline__ void barrier()
{
    if (S == THREAD)
        shmem_barrier_all();
    else if (S == WARP)
        shmemx_barrier_all_warp();
    else
        shmemx_barrier_all_block();
}

template <scope S> __device__ __forceinline__ void sync()
{
    if (S == THREAD)
        shmem_sync_all();
    else if (S == WARP)
        shmemx_sync_all_warp();
    else
        shmemx_sync_all_block();
}

// n calls after n / 10 that are not timed; *ns gets the nanoseconds of the n.
template <scope S, bool BARRIER> __global__ void loop(uint64_t *ns)
{
    uint64_t begin = 0;
    for (int i = 0; i < n / 10 + n; ++i) {
        if (i == n / 10)
            begin = clock_ns();
        if (BARRIER)
            barrier<S>();
        else
            sync<S>();
    }
    if (threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

// Launches the kernel on both PEs, and prints PE 0's microseconds of a call.
template <scope S, bool BARRIER> void run(uint64_t *ns, int threads)
{
    std::vector<double> us;
    for (int i = 0; i < launches; ++i) {
        shmem_barrier_all();
        loop<S, BARRIER><<<1, threads>>>(ns);
        need(cudaGetLastError(), "launch a kernel");
        need(cudaDeviceSynchronize(), "run a kernel");
        if (i > 0)
            us.push_back((double)*ns / n / 1e3);
    }
    if (shmem_my_pe() == 0)
        row(BENCH_SYSTEM, {BARRIER ? "barrier" : "sync", scope_names[S], 0, 1, threads, "us"}, us);
}

} // namespace

int main()
{
    start();
    uint64_t *ns;
    need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
    run<THREAD, true>(ns, 1);
    run<WARP, true>(ns, 32);
    run<BLOCK, true>(ns, 256);
    run<THREAD, false>(ns, 1);
    run<WARP, false>(ns, 32);
    run<BLOCK, false>(ns, 256);
    shmem_finalize();
    return 0;
}
