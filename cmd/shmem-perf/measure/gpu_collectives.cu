/*
 * gpu_collectives: the calls that kernels of all PEs make together, by a thread, a warp or a block,
 * and the same calls queued on a stream. The size is what one PE contributes; of alltoall, to each
 * PE.
 */
#include "gpu.cuh"

namespace
{

enum collective { BARRIER, SYNC, BROADCAST, SUM, FCOLLECT, ALLTOALL };

// Makes one call by the threads of a scope together. Sums and broadcasts have elements of type
// long, because NVSHMEM's nvshmemx_broadcastmem_warp has no root in its headers; the others have
// bytes.
template <scope_kind S, collective C>
__device__ __forceinline__ void call(long *to, const long *from, size_t size, int root)
{
    if (C == BARRIER)
        S == THREAD ? shmem_barrier_all()
        : S == WARP ? shmemx_barrier_all_warp()
                    : shmemx_barrier_all_block();
    else if (C == SYNC)
        S == THREAD ? shmem_sync_all()
        : S == WARP ? shmemx_sync_all_warp()
                    : shmemx_sync_all_block();
    else if (C == BROADCAST)
        S == THREAD ? shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, size / sizeof(long), root)
        : S == WARP
            ? shmemx_long_broadcast_warp(SHMEM_TEAM_WORLD, to, from, size / sizeof(long), root)
            : shmemx_long_broadcast_block(SHMEM_TEAM_WORLD, to, from, size / sizeof(long), root);
    else if (C == SUM)
        S == THREAD ? shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, size / sizeof(long))
        : S == WARP ? shmemx_long_sum_reduce_warp(SHMEM_TEAM_WORLD, to, from, size / sizeof(long))
                    : shmemx_long_sum_reduce_block(SHMEM_TEAM_WORLD, to, from, size / sizeof(long));
    else if (C == FCOLLECT)
        S == THREAD ? shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, size)
        : S == WARP ? shmemx_fcollectmem_warp(SHMEM_TEAM_WORLD, to, from, size)
                    : shmemx_fcollectmem_block(SHMEM_TEAM_WORLD, to, from, size);
    else
        S == THREAD ? shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, size)
        : S == WARP ? shmemx_alltoallmem_warp(SHMEM_TEAM_WORLD, to, from, size)
                    : shmemx_alltoallmem_block(SHMEM_TEAM_WORLD, to, from, size);
}

// Makes n calls, one after the other. The root of broadcasts changes with each call, so that each
// waits for the one before. Before the last broadcast there is a barrier, as on the host
// (collectives.c).
template <scope_kind S, collective C>
__global__ void __launch_bounds__(block_threads)
    calls(long *to, const long *from, size_t size, long n, int root, int pes)
{
    for (long i = 0; i < n; ++i) {
        root = (root + 1) % pes;
        if (C == BROADCAST && i == n - 1) {
            call<S, BARRIER>(to, from, size, root);
            join<S>();
        }
        call<S, C>(to, from, size, root);
        join<S>();
    }
}

int root; // of the last broadcast

// Returns the elements of src, or of dst, which are in memory of the GPU.
long *elements(char *memory)
{
    return reinterpret_cast<long *>(memory);
}

// Runs n calls in one kernel.
template <scope_kind S, collective C> void run_calls(long n, size_t size)
{
    calls<S, C><<<1, threads<S>()>>>(elements(dst), elements(src), size, n, root, npes);
    root = (int)((root + n) % npes);
    wait_for_kernel("collective calls in a kernel");
}

// Queues one call on the stream.
template <collective C> void queue_call(size_t size)
{
    long *to = elements(dst), *from = elements(src);
    if (C == BARRIER)
        shmemx_barrier_all_on_stream(stream);
    else if (C == SYNC)
        shmemx_sync_all_on_stream(stream);
    else if (C == BROADCAST)
        shmemx_long_broadcast_on_stream(SHMEM_TEAM_WORLD, to, from, size / sizeof(long), root,
                                        stream);
    else if (C == SUM)
        shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, to, from, size / sizeof(long), stream);
    else if (C == FCOLLECT)
        shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, to, from, size, stream);
    else
        shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, to, from, size, stream);
}

// Queues n calls on the stream, and waits for its end.
template <collective C> void queue_calls(long n, size_t size)
{
    for (long i = 0; i < n; ++i) {
        root = (root + 1) % npes;
        if (C == BROADCAST && i == n - 1)
            queue_call<BARRIER>(size);
        queue_call<C>(size);
    }
    check_cuda(cudaStreamSynchronize(stream), "collective calls on a stream");
}

// Returns what element i of a PE's source is: different for each element and PE.
long element(size_t i, int pe)
{
    return (long)i * (pe + 1) + pe;
}

// Returns how many elements dst gets from a call.
template <collective C> size_t dest_elements(size_t size)
{
    return size / sizeof(long) * (C == FCOLLECT || C == ALLTOALL ? (size_t)npes : 1);
}

// Fills the source, and overwrites dst. The source of an alltoall has a block for each PE.
template <collective C> void prepare_call(size_t size)
{
    std::vector<long> from(size / sizeof(long) * (C == ALLTOALL ? (size_t)npes : 1));
    for (size_t i = 0; i < from.size(); ++i)
        from[i] = element(i, me);
    root = 0;
    store(src, from.data(), from.size() * sizeof(long));
    clear(dst, dest_elements<C>(size) * sizeof(long));
    shmem_barrier_all();
}

// Returns what element i of dst should be after a call, whose contributions have n elements.
template <collective C> long expected(size_t i, size_t n)
{
    switch (C) {
    case BROADCAST:
        return element(i, root);
    case SUM:
        return (long)i * ((long)npes * (npes + 1) / 2) + (long)npes * (npes - 1) / 2;
    case FCOLLECT:
        return element(i % n, (int)(i / n));
    default:
        return element(i % n + n * (size_t)me, (int)(i / n));
    }
}

// Checks dst after a figure.
template <collective C> bool check_call(size_t size)
{
    std::vector<long> to(dest_elements<C>(size));
    load(to.data(), dst, to.size() * sizeof(long));
    for (size_t i = 0; i < to.size(); ++i)
        if (to[i] != expected<C>(i, size / sizeof(long)))
            return false;
    return true;
}

// Adds the figure of one call by a scope. A single thread takes too long for large sizes.
template <collective C>
void add(std::vector<struct figure> &all, const char *test, const char *scope,
         void (*run)(long, size_t), const char *until)
{
    struct figure f = make_figure(test, "latency", scope, until, LATENCY, ALL, run);
    if (C == BARRIER || C == SYNC) {
        f.unsized = true;
    } else {
        f.unit = sizeof(long);
        f.prepare = prepare_call<C>;
        f.check = check_call<C>;
        f.most = strcmp(scope, "thread") ? 0 : 64 << 10; // bytes
    }
    all.push_back(f);
}

// Adds the figures of the calls that the threads of a scope make.
template <scope_kind S> void add_scope(std::vector<struct figure> &all, const char *scope)
{
    const char *until = "return on PE 0";
    add<BARRIER>(all, "barrier", scope, run_calls<S, BARRIER>, until);
    add<SYNC>(all, "sync", scope, run_calls<S, SYNC>, until);
    add<BROADCAST>(all, "broadcast", scope, run_calls<S, BROADCAST>, until);
    add<SUM>(all, "sum", scope, run_calls<S, SUM>, until);
    add<FCOLLECT>(all, "fcollect", scope, run_calls<S, FCOLLECT>, until);
    add<ALLTOALL>(all, "alltoall", scope, run_calls<S, ALLTOALL>, until);
}

// Makes the table of the figures.
std::vector<struct figure> make_figures()
{
    std::vector<struct figure> all;
    add_scope<THREAD>(all, "thread");
    add_scope<WARP>(all, "warp");
    add_scope<BLOCK>(all, "block");
    const char *scope = "stream", *until = "end of the stream";
    add<BARRIER>(all, "barrier", scope, queue_calls<BARRIER>, until);
    add<SYNC>(all, "sync", scope, queue_calls<SYNC>, until);
    add<BROADCAST>(all, "broadcast", scope, queue_calls<BROADCAST>, until);
    add<SUM>(all, "sum", scope, queue_calls<SUM>, until);
    add<FCOLLECT>(all, "fcollect", scope, queue_calls<FCOLLECT>, until);
    add<ALLTOALL>(all, "alltoall", scope, queue_calls<ALLTOALL>, until);
    all.push_back({});
    return all;
}

} // namespace

// Returns the table, which is made at the first call.
const struct figure *collective_figures()
{
    static const std::vector<struct figure> all = make_figures();
    return all.data();
}
