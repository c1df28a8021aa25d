/*
 * device: the program whose calls kernels make, by a thread, a warp or a block, or that are queued
 * on a CUDA stream (stream.cu, gpu_collectives.cu), in GPU memory. shmem-perf --scope builds it on
 * the machine of the user:
 *
 *   nvcc -O3 -I../include -cudart static *.cu main.c timing.c beside.c -L../lib -lshmem
 *
 * A time includes the launch of one kernel for all iterations of a batch, or the wait for the end
 * of the stream; so single operations are not timed here.
 */
#include "gpu.cuh"

namespace
{

// Symmetric words, each for one purpose. Their values grow over all figures.
enum { SIGNAL, ADDED, SWAPPED, FLAG, WORDS };
uint64_t *word;

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

// Measures get bandwidth: n times each block of the grid posts one nonblocking get of the window,
// and calls quiet.
template <scope_kind S>
__global__ void __launch_bounds__(block_threads)
    get_window(char *to, char *from, size_t size, long n, int pe)
{
    for (long i = 0; i < n; ++i) {
        get_nbi<S>(to, from, size, pe);
        quiet<S>();
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

// Makes n atomic additions without a result, each with a quiet.
__global__ void adds(uint64_t *at, long n, int pe)
{
    for (long i = 0; i < n; ++i) {
        shmem_uint64_atomic_add(at, 1, pe);
        shmem_quiet();
    }
}

// Makes n atomic compare-and-swaps, each of which expects the value that the one before has stored.
__global__ void compare_swaps(uint64_t *at, uint64_t first, long n, int pe)
{
    for (long i = 0; i < n; ++i)
        first = shmem_uint64_atomic_compare_swap(at, first, first + 1, pe) + 1;
}

// Makes n round trips of p: each PE waits for the value that the other stores. The PE with `first`
// begins.
__global__ void flags(uint64_t *flag, uint64_t sent, long n, int pe, bool first)
{
    for (long i = 0; i < n; ++i) {
        ++sent;
        if (!first)
            shmem_uint64_wait_until(flag, SHMEM_CMP_GE, sent);
        shmem_uint64_p(flag, sent, pe);
        if (first)
            shmem_uint64_wait_until(flag, SHMEM_CMP_GE, sent);
    }
}

// Makes n calls of g. The address depends on the value before, which is never 0.
__global__ void fetches(uint64_t *at, uint64_t *got, long n, int pe)
{
    uint64_t old = 1;
    for (long i = 0; i < n; ++i)
        old = shmem_uint64_g(at + (old == 0), pe);
    *got = old;
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

// Runs windows of nonblocking gets in one kernel.
template <scope_kind S> void run_get_window(long n, size_t size)
{
    get_window<S><<<block_count(size), threads<S>()>>>(dst, src, size, n, toward);
    wait_for_kernel("get windows in a kernel");
}

uint64_t sent; // signals that this PE has sent; its peer has sent as many

// Runs n round trips of puts with signal in one kernel.
template <scope_kind S> void run_signal(long n, size_t size)
{
    signal_trips<S><<<1, threads<S>()>>>(dst, src, size, word + SIGNAL, sent, n, toward, me == 0);
    sent += (uint64_t)n;
    wait_for_kernel("put with signals in a kernel");
}

uint64_t added; // additions that this PE has made

// Runs n atomic operations that fetch, in one kernel.
void run_fetch_add(long n, size_t)
{
    fetch_adds<<<1, 1>>>(word + ADDED, n, toward);
    added += (uint64_t)n;
    wait_for_kernel("fetch_add in a kernel");
}

// Runs n atomic additions without a result, in one kernel.
void run_add(long n, size_t)
{
    adds<<<1, 1>>>(word + ADDED, n, toward);
    added += (uint64_t)n;
    wait_for_kernel("add in a kernel");
}

uint64_t swapped; // compare-and-swaps that this PE has made: the value that the next one expects

// Runs n atomic compare-and-swaps in one kernel.
void run_compare_swap(long n, size_t)
{
    compare_swaps<<<1, 1>>>(word + SWAPPED, swapped, n, toward);
    swapped += (uint64_t)n;
    wait_for_kernel("compare_swap in a kernel");
}

uint64_t flagged; // round trips of p so far: the value that the last one has stored

// Runs n round trips of p in one kernel.
void run_p(long n, size_t)
{
    flags<<<1, 1>>>(word + FLAG, flagged, n, toward, me == 0);
    flagged += (uint64_t)n;
    wait_for_kernel("p in a kernel");
}

// Runs n calls of g in one kernel. What they fetch goes to the beginning of dst.
void run_g(long n, size_t)
{
    fetches<<<1, 1>>>(reinterpret_cast<uint64_t *>(src), reinterpret_cast<uint64_t *>(dst), n,
                      toward);
    wait_for_kernel("g in a kernel");
}

// Returns a word of the last PE, on PE 0.
uint64_t word_of_peer(int which)
{
    uint64_t value;
    load_from(&value, word + which, sizeof value, peer);
    return value;
}

// Checks the sum of the additions at the last PE. Only PE 0 has counted how often it has added.
bool check_added(size_t)
{
    return me != 0 || word_of_peer(ADDED) == added;
}

// Checks the value that the last compare-and-swap has stored.
bool check_swapped(size_t)
{
    return me != 0 || word_of_peer(SWAPPED) == swapped;
}

// Checks the value that the peer has stored last.
bool check_flag(size_t)
{
    uint64_t value;
    load(&value, word + FLAG, sizeof value);
    return !acts(BOTH) || value == flagged;
}

// Adds to the table the figures whose calls are made by the threads of a scope together; name is
// the scope's in the output.
template <scope_kind S> void add_scope(std::vector<struct figure> &all, const char *name)
{
    auto add = [&](const char *test, const char *measure, const char *until, enum kind kind,
                   enum acting acting, void (*run)(long, size_t), bool (*check)(size_t)) {
        all.push_back(with_data(make_figure(test, measure, name, until, kind, acting, run), check));
    };
    auto windows = [&](const char *test, const char *measure, enum kind kind, enum acting acting,
                       void (*run)(long, size_t), bool (*check)(size_t)) {
        add(test, measure, "quiet of each block, one operation in each", kind, acting, run, check);
        all.back().burst = window_size;
        all.back().each_way = acting == BOTH;
    };
    add("put", "latency", "quiet", LATENCY, ORIGIN, run_put<S>, check_origin);
    windows("put", "bandwidth", BANDWIDTH, ORIGIN, run_window<S>, check_origin);
    windows("put", "bidirectional", BANDWIDTH, BOTH, run_window<S>, check_both);
    windows("put", "pairs", BANDWIDTH, HALVES, run_window<S>, check_halves);
    windows("put", "rate", RATE, ORIGIN, run_window<S>, check_origin);
    add("get", "latency", "return", LATENCY, ORIGIN, run_get<S>, check_get);
    windows("get", "bandwidth", BANDWIDTH, ORIGIN, run_get_window<S>, check_get);
    add("put_signal", "visible", "signal seen at the target: half a round trip", LATENCY, BOTH,
        run_signal<S>, check_both);
    all.back().half = true;
}

// Returns the table of the figures (each is one way to measure one operation) that measure calls
// made by kernels. An empty figure ends the table.
std::vector<struct figure> make_figures()
{
    std::vector<struct figure> all;
    auto add_word = [&](const char *test, const char *measure, const char *until,
                        enum acting acting, void (*run)(long, size_t), bool (*check)(size_t)) {
        struct figure f = make_figure(test, measure, "thread", until, LATENCY, acting, run);
        all.push_back(of_one_size(f, sizeof(uint64_t), check));
    };
    add_scope<THREAD>(all, "thread");
    add_word("p", "visible", "visible at the target: half a round trip", BOTH, run_p, check_flag);
    all.back().half = true;
    add_word("g", "latency", "return", ORIGIN, run_g, check_get);
    all.back().prepare = prepare;
    add_word("fetch_add", "latency", "return", ORIGIN, run_fetch_add, check_added);
    add_word("add", "latency", "quiet", ORIGIN, run_add, check_added);
    add_word("compare_swap", "latency", "return", ORIGIN, run_compare_swap, check_swapped);
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

} // namespace

extern "C" const struct figure *const perf_tables[] = {figures().data(), stream_figures(),
                                                       collective_figures(), NULL};

// Before shmem_init, which chooses the GPU of this PE, by the PE's number on its host: ends the
// program if there is no GPU, or no driver for this CUDA runtime.
extern "C" void perf_start(void)
{
    int n = 0;
    check_cuda(cudaGetDeviceCount(&n), "count GPUs");
}

// After shmem_init: allocates what the figures need.
extern "C" void perf_open(void)
{
    word = static_cast<uint64_t *>(symmetric(WORDS * sizeof *word));
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
