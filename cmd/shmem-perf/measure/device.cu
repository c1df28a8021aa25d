/*
 * device: the program whose calls kernels make, by a thread, a warp or a block, or that are queued
 * on a CUDA stream (stream.cu), in GPU memory. shmem-perf --scope builds it on the machine of the
 * user:
 *
 *   nvcc -O3 -I../include -cudart static device.cu stream.cu main.c timing.c beside.c \
 *       -L../lib -lshmem
 *
 * A time includes the launch of one kernel for all iterations of a batch, or the wait for the end
 * of the stream; so single operations are not timed here.
 */
#include <cstdlib>

#include "gpu.cuh"

namespace
{

uint64_t *word; // symmetric: the word of signals, and of atomics

// Measures put latency: n puts by the threads of a scope, each with a quiet.
template <scope_kind S>
__global__ void __launch_bounds__(block_threads)
    put_quiet(char *to, char *from, size_t size, long n, int pe)
{
    for (long i = 0; i < n; ++i) {
        put<S>(to, from, size, pe);
        quiet<S>();
    }
}

// Measures put bandwidth: n times each block of the grid posts one nonblocking put of the window,
// and calls quiet itself. The blocks run at the same time, so the window has as many puts as the
// grid has blocks.
template <scope_kind S>
__global__ void __launch_bounds__(block_threads)
    put_window(char *to, char *from, size_t size, long n, int pe)
{
    for (long i = 0; i < n; ++i) {
        put_nbi<S>(to, from, size, pe);
        quiet<S>();
    }
}

// Measures get latency: n gets by the threads of a scope, one after the other.
template <scope_kind S>
__global__ void __launch_bounds__(block_threads)
    get_wait(char *to, char *from, size_t size, long n, int pe)
{
    for (long i = 0; i < n; ++i) {
        get<S>(to, from, size, pe);
        join<S>();
    }
}

// Makes n round trips of a put with signal. The PE with `first` puts and then waits for the signal
// of the other; the other waits and then puts. `sent` is the value of the last signal before:
// values grow from one launch to the next, so that no signal has to be reset.
template <scope_kind S>
__global__ void __launch_bounds__(block_threads)
    signal_trips(char *to, char *from, size_t size, uint64_t *signal, uint64_t sent, long n, int pe,
                 bool first)
{
    for (long i = 0; i < n; ++i) {
        ++sent;
        if (!first) {
            if (threadIdx.x == 0)
                shmem_signal_wait_until(signal, SHMEM_CMP_GE, sent);
            join<S>();
        }
        put_signal<S>(to, from, size, signal, sent, pe);
        if (first) {
            if (threadIdx.x == 0)
                shmem_signal_wait_until(signal, SHMEM_CMP_GE, sent);
            join<S>();
        }
    }
}

// Makes n atomic fetch-and-adds of 1. Each addend depends on the value that the last one fetched:
// without that the compiler chose operations that fetch nothing, .07 us each on an H200. old >> 63
// is always 0, because values do not become so large.
__global__ void fetch_adds(uint64_t *at, long n, int pe)
{
    uint64_t old = 0;
    for (long i = 0; i < n; ++i)
        old = shmem_uint64_atomic_fetch_add(at, 1 + (old >> 63), pe);
}

// Makes n barriers of all PEs, each by the threads of a scope together.
template <scope_kind S> __global__ void __launch_bounds__(block_threads) barriers(long n)
{
    for (long i = 0; i < n; ++i) {
        if (S == THREAD)
            shmem_barrier_all();
        else if (S == WARP)
            shmemx_barrier_all_warp();
        else
            shmemx_barrier_all_block();
    }
}

// Waits until the kernel that was started last has ended, and ends the program if it failed.
void wait_for_kernel(const char *what)
{
    check_cuda(cudaGetLastError(), what);
    check_cuda(cudaDeviceSynchronize(), what);
}

// Runs n puts, each with a quiet, in one kernel.
template <scope_kind S> void run_put(long n, size_t size)
{
    put_quiet<S><<<1, threads<S>()>>>(dst, src, size, n, toward);
    wait_for_kernel("put in a kernel");
}

// Runs windows of nonblocking puts in one kernel.
template <scope_kind S> void run_window(long n, size_t size)
{
    put_window<S><<<block_count(size), threads<S>()>>>(dst, src, size, n, toward);
    wait_for_kernel("put windows in a kernel");
}

// Runs n gets in one kernel.
template <scope_kind S> void run_get(long n, size_t size)
{
    get_wait<S><<<1, threads<S>()>>>(dst, src, size, n, toward);
    wait_for_kernel("get in a kernel");
}

uint64_t sent; // signals that this PE has sent; its peer has sent as many

// Runs n round trips of puts with signal in one kernel.
template <scope_kind S> void run_signal(long n, size_t size)
{
    signal_trips<S><<<1, threads<S>()>>>(dst, src, size, word, sent, n, toward, me == 0);
    sent += (uint64_t)n;
    wait_for_kernel("put with signals in a kernel");
}

uint64_t added;

// Runs n atomic operations that fetch, in one kernel.
void run_fetch_add(long n, size_t)
{
    fetch_adds<<<1, 1>>>(word + 1, n, toward);
    added += (uint64_t)n;
    wait_for_kernel("fetch_add in a kernel");
}

// Runs n barriers in one kernel.
template <scope_kind S> void run_barrier(long n, size_t)
{
    barriers<S><<<1, threads<S>()>>>(n);
    wait_for_kernel("barrier in a kernel");
}

// Checks the sum of the additions at the last PE. Only PE 0 has counted how often it has added.
bool check_added(size_t)
{
    return me != 0 || shmem_uint64_g(word + 1, peer) == added;
}

// Adds to the table the figures whose calls are made by the threads of a scope together; name is
// the scope's in the output.
template <scope_kind S> void add_scope(std::vector<struct figure> &all, const char *name)
{
    all.push_back(with_data(
        make_figure("put", "latency", name, "quiet", LATENCY, ORIGIN, run_put<S>), check_origin));
    all.push_back(with_data(with_window(make_figure("put", "bandwidth", name,
                                                    "quiet of each block, one operation in each",
                                                    BANDWIDTH, ORIGIN, run_window<S>)),
                            check_origin));
    all.push_back(with_data(
        make_figure("get", "latency", name, "return", LATENCY, ORIGIN, run_get<S>), check_get));
    all.push_back(with_data(half_trips(make_figure("put_signal", "visible", name,
                                                   "signal seen at the target: half a round trip",
                                                   LATENCY, BOTH, run_signal<S>)),
                            check_both));
    all.push_back(of_one_size(
        make_figure("barrier", "latency", name, "return on PE 0", LATENCY, ALL, run_barrier<S>), 0,
        NULL));
}

// Makes the table of the figures whose calls kernels make. An empty figure ends it.
std::vector<struct figure> make_figures()
{
    std::vector<struct figure> all;
    add_scope<THREAD>(all, "thread");
    all.push_back(of_one_size(
        make_figure("fetch_add", "latency", "thread", "return", LATENCY, ORIGIN, run_fetch_add),
        sizeof(uint64_t), check_added));
    add_scope<WARP>(all, "warp");
    add_scope<BLOCK>(all, "block");
    all.push_back({});
    return all;
}

// Returns the table, which is made at the first call.
const std::vector<struct figure> &figures()
{
    static const std::vector<struct figure> all = make_figures();
    return all;
}

// Returns the number of this PE on its host, which selects its GPU, from the variable of the
// launcher that has started it. Without any of them it is 0.
int local_number()
{
    for (const char *name :
         {"SHMEM_LAUNCHER_PE", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
        if (const char *text = getenv(name))
            return atoi(text);
    return 0;
}

} // namespace

extern "C" const struct figure *const perf_tables[] = {figures().data(), stream_figures(), NULL};

// Before shmem_init: chooses the GPU of this PE.
extern "C" void perf_start(void)
{
    int n = 0;
    check_cuda(cudaGetDeviceCount(&n), "count GPUs");
    check_cuda(cudaSetDevice(local_number() % (n > 0 ? n : 1)), "take a GPU");
    check_cuda(cudaFree(nullptr), "open the GPU");
}

// After shmem_init: allocates what the figures need.
extern "C" void perf_open(void)
{
    word = static_cast<uint64_t *>(symmetric(2 * sizeof *word));
    stream_open();
}

// Copies from symmetric memory, which is memory of the GPU.
extern "C" void load(void *to, const void *symmetric, size_t size)
{
    check_cuda(cudaMemcpy(to, symmetric, size, cudaMemcpyDefault), "read GPU memory");
}

// Copies to symmetric memory, which is memory of the GPU.
extern "C" void store(void *symmetric, const void *from, size_t size)
{
    check_cuda(cudaMemcpy(symmetric, from, size, cudaMemcpyDefault), "write GPU memory");
}

// Zeroes symmetric memory, which is memory of the GPU.
extern "C" void clear(void *symmetric, size_t size)
{
    check_cuda(cudaMemset(symmetric, 0, size), "clear GPU memory");
    check_cuda(cudaDeviceSynchronize(), "clear GPU memory");
}
