/*
 * bandwidth: PE 0 puts into PE 1's memory, and gets from it, by blocks that take
 * a share each. The quiet at the end is inside the timed part, as the fence is
 * in the limits (probe.cu, k_copy), whose sizes, repetitions and shapes these
 * are: one kernel goes over the bytes again and again.
 *
 * bandwidth [put] [get] [each] [best]
 *   each     with a quiet of every block after each pass over the bytes, without
 *            which a get may be answered by a cache from the pass before
 *   best     also with other numbers of blocks and threads than the figure's
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const size_t largest = 32 << 20;

__device__ uint32_t pattern(size_t word, uint32_t salt)
{
    return (uint32_t)word * 2654435761u ^ salt;
}

__global__ void fill(uint32_t *p, size_t words, uint32_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        p[i] = pattern(i, salt);
}

__global__ void compare(const uint32_t *p, size_t words, uint32_t salt, unsigned *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (p[i] != pattern(i, salt))
            atomicAdd(wrong, 1u);
}

enum kind { PUT, GET, PUT_EACH, GET_EACH };

__host__ __device__ constexpr bool gets(kind k)
{
    return k == GET || k == GET_EACH;
}

__host__ __device__ constexpr bool quiets(kind k)
{
    return k == PUT_EACH || k == GET_EACH;
}

// Bounds, so that 1024 threads start however much either library inlines.
template <kind K>
__global__ void __launch_bounds__(1024)
    move(char *to, const char *from, size_t bytes, int repeat, int peer)
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
    }
    if (!quiets(K))
        quiet<BLOCK>();
}

struct bench {
    char *to, *from;
    unsigned *wrong;
    cudaEvent_t begin, end;

    bench()
    {
        to = static_cast<char *>(symmetric(largest));
        from = static_cast<char *>(symmetric(largest));
        need(cudaMalloc(&wrong, sizeof *wrong), "allocate a counter");
        need(cudaEventCreate(&begin), "create an event");
        need(cudaEventCreate(&end), "create an event");
    }

    // GB/s, of so many launches.
    template <kind K> void run(const char *name, size_t bytes, int ctas, int threads, int times)
    {
        static const size_t total = strtoull(setting("BENCH_BYTES", "268435456"), nullptr, 0);
        int repeat = (int)std::max<size_t>(3, std::min<size_t>(2000, total / bytes));
        uint32_t salt = (uint32_t)(bytes + ctas * 31 + threads);
        int source = gets(K) ? 1 : 0;
        fill<<<64, 256>>>((uint32_t *)from, bytes / 4, salt + (uint32_t)shmem_my_pe());
        need(cudaMemset(to, 0, bytes), "clear the target");
        need(cudaDeviceSynchronize(), "fill the source");
        shmem_barrier_all();
        std::vector<double> rates;
        if (shmem_my_pe() == 0) {
            move<K><<<ctas, threads>>>(to, from, bytes, 3, 1);
            for (int i = 0; i < times; ++i) {
                float ms = 0;
                need(cudaEventRecord(begin), "record an event");
                move<K><<<ctas, threads>>>(to, from, bytes, repeat, 1);
                need(cudaGetLastError(), "launch a kernel");
                need(cudaEventRecord(end), "record an event");
                need(cudaDeviceSynchronize(), "run a kernel");
                need(cudaEventElapsedTime(&ms, begin, end), "read a time");
                rates.push_back((double)bytes * repeat / ms / 1e6);
            }
        }
        shmem_barrier_all();
        if (shmem_my_pe() == 1 - source) {
            unsigned bad = 0;
            need(cudaMemset(wrong, 0, sizeof *wrong), "clear a counter");
            compare<<<64, 256>>>((const uint32_t *)to, bytes / 4, salt + (uint32_t)source, wrong);
            need(cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost), "compare");
            if (bad != 0)
                give_up(name, "other bytes arrived than were sent");
        }
        // A row is only of bytes that have arrived.
        shmem_barrier_all();
        if (shmem_my_pe() == 0)
            row(BENCH_SYSTEM, {name, "block", bytes, ctas, threads, "GB/s"}, rates);
    }
};

template <kind K> void group(bench &b, const char *name, bool best)
{
    for (size_t bytes : {64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20}) {
        b.run<K>(name, bytes, 32, 1024, 7);
        if (!best)
            continue;
        for (int threads : {256, 512})
            b.run<K>(name, bytes, 32, threads, 3);
        for (int ctas : {1, 2, 4, 8, 16, 64, 132})
            b.run<K>(name, bytes, ctas, 1024, 3);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    start();
    bench b;
    bool best = wanted(names, "best");
    if (wanted(names, "put"))
        group<PUT>(b, "put", best);
    if (wanted(names, "get"))
        group<GET>(b, "get", best);
    if (wanted(names, "each")) {
        group<PUT_EACH>(b, "put, quiet each pass", false);
        group<GET_EACH>(b, "get, quiet each pass", false);
    }
    shmem_finalize();
    return 0;
}
