/*
 * bandwidth: PE 0 puts into PE 1's memory, and gets from it, by blocks that take a share each. The
 * quiet at the end is inside the timed part, as the fence is in the limits (probe.cu, k_copy),
 * which have the same sizes and shapes.
 *
 * A kernel makes passes. Each pass moves the bytes behind those of the previous pass, through a
 * window of both heaps that is larger than caches: a byte is touched again only after the whole
 * window. Rows whose passes move the same bytes again and again, which caches answer, have other
 * names.
 *
 * bandwidth [put] [get] [each] [best] [same] [few]
 *   each     with a quiet of every block after each pass
 *   best     also with other numbers of blocks and threads than the figure's
 *   same     also passes over the same bytes
 *   few      only when named: two sizes, and no more launches than 100 ms take
 *
 * BENCH_BYTES is the number of bytes that a launch moves, through the window in whole rounds, at
 * least one. The window is as many whole 32 MiB as that has, at least 32 and at most 512 MiB.
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const size_t largest = 32 << 20;         // bytes of a pass
const size_t widest = (size_t)512 << 20; // bytes of a window

// The word at an index of a source; salt differs between sources and figures.
__device__ uint32_t pattern(size_t word, uint32_t salt)
{
    return (uint32_t)word * 2654435761u ^ salt;
}

// Fills memory with the pattern.
__global__ void fill(uint32_t *p, size_t words, uint32_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        p[i] = pattern(i, salt);
}

// Adds to *wrong the number of words that differ from the pattern.
__global__ void compare(const uint32_t *p, size_t words, uint32_t salt, unsigned *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (p[i] != pattern(i, salt))
            atomicAdd(wrong, 1u);
}

enum kind { PUT, GET, PUT_EACH, GET_EACH }; // EACH: with a quiet after each pass

__host__ __device__ constexpr bool gets(kind k)
{
    return k == GET || k == GET_EACH;
}

__host__ __device__ constexpr bool quiets(kind k)
{
    return k == PUT_EACH || k == GET_EACH;
}

// Makes `repeat` passes of `bytes`, each `step` bytes behind the one before, which wrap around at
// `window`. The launch bounds limit the registers of a thread, so that blocks of 1024 threads start
// however much a library inlines.
template <kind K>
__global__ void __launch_bounds__(1024)
    move(char *to, const char *from, size_t bytes, int repeat, size_t step, size_t window, int peer)
{
    // Shares are whole 16-byte words, so the last blocks may have none.
    size_t share = (bytes / 16 + gridDim.x - 1) / gridDim.x * 16;
    size_t begin = min(share * blockIdx.x, bytes), n = min(share, bytes - begin);
    if (n == 0)
        return;
    for (int i = 0; i < repeat; ++i) {
        if (gets(K))
            get<BLOCK>(to + begin, from + begin, n, peer);
        else
            put<BLOCK>(to + begin, from + begin, n, peer);
        if (quiets(K))
            quiet<BLOCK>();
        begin += step;
        if (begin >= window)
            begin -= window;
    }
    if (!quiets(K))
        quiet<BLOCK>();
}

struct bench {
    size_t total, window; // bytes of a launch (0: by default), and of the window
    char *to, *from;      // symmetric
    unsigned *wrong;      // in GPU memory: words that differ
    cudaEvent_t begin, end;
    int least = 3;  // launches of a figure that are made in any case
    float ms = 2e3; // the milliseconds of launches after which no further one begins

    bench()
    {
        total = strtoull(setting("BENCH_BYTES", "0"), nullptr, 0);
        window = std::min(widest, std::max(largest, (total ? total : widest) / largest * largest));
        to = static_cast<char *>(symmetric(window));
        from = static_cast<char *>(symmetric(window));
        need(cudaMalloc(&wrong, sizeof *wrong), "allocate a counter");
        need(cudaEventCreate(&begin), "create an event");
        need(cudaEventCreate(&end), "create an event");
    }

    // The passes of a launch. walk: through the window, in whole rounds.
    int passes(bool walk, size_t bytes) const
    {
        if (walk)
            return (int)(std::max<size_t>(1, total / window) * (window / bytes));
        size_t often = (total ? total : (size_t)256 << 20) / bytes;
        return (int)std::max<size_t>(3, std::min<size_t>(2000, often));
    }

    // Prints GB/s of up to `times` launches, and ends the program if wrong bytes arrived. A launch
    // of 3 passes before them warms up. PE 0 makes the calls: a put moves its bytes to PE 1, a get
    // those of PE 1 to it, so that `source` is the PE whose pattern the other one checks.
    template <kind K> void run(bool walk, size_t bytes, int ctas, int threads, int times)
    {
        std::string name = gets(K) ? "get" : "put";
        name += std::string(walk ? " over a window" : "") + (quiets(K) ? ", quiet each pass" : "");
        int repeat = passes(walk, bytes);
        size_t step = walk ? bytes : 0, written = walk ? window : bytes;
        uint32_t salt = (uint32_t)(bytes + ctas * 31 + threads);
        int source = gets(K) ? 1 : 0;
        fill<<<264, 256>>>((uint32_t *)from, written / 4, salt + (uint32_t)shmem_my_pe());
        need(cudaMemset(to, 0, written), "clear the target");
        need(cudaDeviceSynchronize(), "fill the source");
        shmem_barrier_all();
        std::vector<double> rates;
        if (shmem_my_pe() == 0) {
            move<K><<<ctas, threads>>>(to, from, bytes, 3 /* passes */, step, window, 1 /* PE */);
            float spent = 0;
            for (int i = 0; i < times && (i < least || spent < ms); ++i) {
                float took = 0;
                need(cudaEventRecord(begin), "record an event");
                move<K><<<ctas, threads>>>(to, from, bytes, repeat, step, window, 1 /* PE */);
                need(cudaGetLastError(), "launch a kernel");
                need(cudaEventRecord(end), "record an event");
                need(cudaDeviceSynchronize(), "run a kernel");
                need(cudaEventElapsedTime(&took, begin, end), "read a time");
                rates.push_back((double)bytes * repeat / took / 1e6);
                spent += took;
            }
        }
        shmem_barrier_all();
        if (shmem_my_pe() == 1 - source) {
            unsigned bad = 0;
            need(cudaMemset(wrong, 0, sizeof *wrong), "clear a counter");
            compare<<<264, 256>>>((const uint32_t *)to, written / 4, salt + (uint32_t)source,
                                  wrong);
            need(cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost), "compare");
            if (bad != 0)
                give_up(name.c_str(), "other bytes arrived than were sent");
        }
        // A row counts only bytes that have arrived.
        shmem_barrier_all();
        if (shmem_my_pe() == 0)
            row(BENCH_SYSTEM, {name.c_str(), "block", bytes, ctas, threads, "GB/s"}, rates);
    }
};

// Runs a kind at all sizes: 32 blocks of 1024 threads, and with best other shapes, too.
template <kind K> void group(bench &b, bool walk, bool best, bool few)
{
    for (size_t bytes : {64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20}) {
        if (few && bytes != 1 << 20 && bytes != largest)
            continue;
        b.run<K>(walk, bytes, 32, 1024, 7);
        if (!best)
            continue;
        for (int threads : {256, 512})
            b.run<K>(walk, bytes, 32, threads, 3);
        for (int ctas : {1, 2, 4, 8, 16, 64, 132})
            b.run<K>(walk, bytes, ctas, 1024, 3);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    start();
    bench b;
    bool best = wanted(names, "best"), few = !names.empty() && wanted(names, "few");
    if (few) {
        b.least = 1;
        b.ms = 100;
    }
    for (bool walk : {true, false}) {
        if (!walk && !wanted(names, "same"))
            continue;
        if (wanted(names, "put"))
            group<PUT>(b, walk, best, few);
        if (wanted(names, "get"))
            group<GET>(b, walk, best, few);
        if (wanted(names, "each")) {
            group<PUT_EACH>(b, walk, false, few);
            group<GET_EACH>(b, walk, false, few);
        }
    }
    shmem_finalize();
    return 0;
}
