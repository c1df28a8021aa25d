/*
 * burst: 64 puts of one kernel at once. PE 0's kernel puts 64 pieces, each with a signal; PE 1's
 * kernel waits for all signals and answers with one. The pieces are adjacent, or scattered: then no
 * piece touches another, in the source or at the target. Also 64 puts without signals, with a quiet
 * after each or one at the end. Times are of all 64 together.
 *
 * burst [signal] [quiet] [BYTES...]
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const int pieces = 64;
const size_t scattered = 65536; // bytes of the largest pieces that are also measured scattered
const size_t largest = 1 << 20;
const int launches = 6; // the first is not counted
const int warm = 2;     // rounds of a launch that are not timed

// Puts a piece with its signal by a warp.
__device__ __forceinline__ void put_piece(bool nbi, char *to, char *from, size_t bytes,
                                          uint64_t *signal, uint64_t value, int peer)
{
    if (nbi)
        shmemx_putmem_signal_nbi_warp(to, from, bytes, signal, value, SHMEM_SIGNAL_SET, peer);
    else
        shmemx_putmem_signal_warp(to, from, bytes, signal, value, SHMEM_SIGNAL_SET, peer);
}

// Where piece k is in the source and at the target, in sizes of a piece. Scattered pieces do not
// have a constant distance either.
__host__ __device__ inline size_t source_of(bool scatter, int k)
{
    return scatter ? 3 * (k * 37 % pieces) + k * k % 3 : k;
}

__host__ __device__ inline size_t target_of(bool scatter, int k)
{
    return scatter ? 3 * (k * 29 % pieces) + k % 2 : k;
}

// On PE 0: n rounds after those that are not timed. The warps of all blocks share the pieces. All
// signals of a round and its answer, for which each block waits, have the value first + round.
__global__ void __launch_bounds__(256)
    bursts(bool nbi, bool scatter, char *to, char *from, size_t bytes, uint64_t *signals,
           uint64_t *answer, uint64_t first, int n, int peer, uint64_t *ns)
{
    int warps = gridDim.x * (blockDim.x / 32);
    int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    uint64_t begin = 0;
    for (int i = 0; i < warm + n; ++i) {
        if (i == warm)
            begin = clock_ns();
        for (int k = warp; k < pieces; k += warps)
            put_piece(nbi, to + target_of(scatter, k) * bytes, from + source_of(scatter, k) * bytes,
                      bytes, signals + k, first + i, peer);
        join<BLOCK>();
        await<BLOCK>(answer, first + i);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

// On PE 1: waits for the signals of each round, a thread for each, and answers.
__global__ void answers(uint64_t *signals, uint64_t *answer, uint64_t first, int n, int peer)
{
    for (int i = 0; i < warm + n; ++i) {
        shmem_signal_wait_until(signals + threadIdx.x, SHMEM_CMP_GE, first + i);
        __syncthreads();
        if (threadIdx.x == 0)
            shmemx_signal_op(answer, first + i, SHMEM_SIGNAL_SET, peer);
    }
}

// By one warp of PE 0: rounds of 64 puts without signals. each: a quiet after each put.
__global__ void quiets(bool each, char *to, char *from, size_t bytes, int n, int peer, uint64_t *ns)
{
    uint64_t begin = 0;
    for (int i = 0; i < warm + n; ++i) {
        if (i == warm)
            begin = clock_ns();
        for (int k = 0; k < pieces; ++k) {
            shmemx_putmem_nbi_warp(to + k * bytes, from + k * bytes, bytes, peer);
            if (each)
                quiet<WARP>();
        }
        if (!each)
            quiet<WARP>();
    }
    if (threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

struct bench {
    char *to, *from;
    uint64_t *signals, *answer, *ns;
    uint64_t next = 1; // the value of the next round
    std::vector<char> came;

    bench()
    {
        to = static_cast<char *>(symmetric(pieces * largest));
        from = static_cast<char *>(symmetric(pieces * largest));
        signals = static_cast<uint64_t *>(symmetric(pieces * sizeof *signals));
        answer = static_cast<uint64_t *>(symmetric(128));
        need(cudaMemset(signals, 0, pieces * sizeof *signals), "clear the signals");
        need(cudaMemset(answer, 0, 128), "clear the answer");
        need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
        need(cudaDeviceSynchronize(), "clear memory");
        shmem_barrier_all();
    }

    // Fills the source with a byte that differs from that of the previous figure.
    void fill(size_t bytes)
    {
        need(cudaMemset(from, (int)(next % 251) + 1, pieces * std::min(3 * bytes, largest)),
             "fill the source");
        need(cudaDeviceSynchronize(), "fill the source");
        shmem_barrier_all();
    }

    // On PE 1: ends the program if a byte of a piece is not the one of the source.
    void compare(const char *name, bool scatter, size_t bytes, char want)
    {
        shmem_barrier_all();
        if (shmem_my_pe() == 0)
            return;
        came.resize((scatter ? 3 : 1) * pieces * bytes);
        need(cudaMemcpy(came.data(), to, came.size(), cudaMemcpyDefault), "read the target");
        for (int k = 0; k < pieces; ++k)
            for (size_t i = 0; i < bytes; ++i)
                if (came[target_of(scatter, k) * bytes + i] != want)
                    give_up(name, "bytes are missing at the target");
    }

    // The timed rounds of a launch.
    static int rounds(size_t bytes)
    {
        return bytes > 65536 ? 5 : 20;
    }

    // Prints us of 64 puts with signals, until PE 1's answer. PE 1's kernel has a thread for each
    // signal.
    void signal(const char *how, bool nbi, bool scatter, size_t bytes, int ctas, int threads)
    {
        std::vector<double> us;
        int n = rounds(bytes), me = shmem_my_pe();
        char want = (char)(next % 251 + 1);
        fill(bytes);
        for (int i = 0; i < launches; ++i) {
            if (me == 0)
                bursts<<<ctas, threads>>>(nbi, scatter, to, from, bytes, signals, answer, next, n,
                                          1 /* PE */, ns);
            else
                answers<<<1, pieces>>>(signals, answer, next, n, 0 /* PE */);
            need(cudaGetLastError(), "launch a kernel");
            need(cudaDeviceSynchronize(), "run a kernel");
            next += warm + n;
            if (i > 0)
                us.push_back((double)*ns / n / 1e3);
            shmem_barrier_all();
        }
        compare("burst_signal", scatter, bytes, want);
        if (me == 0)
            row(BENCH_SYSTEM, {"burst_signal", how, bytes, ctas, threads, "us"}, us);
    }

    // Prints us of 64 puts without signals. next changes although no signal has it, so that the
    // next figure fills the source with another byte.
    void quiet(const char *name, bool each, size_t bytes)
    {
        std::vector<double> us;
        int n = rounds(bytes), me = shmem_my_pe();
        char want = (char)(next % 251 + 1);
        fill(bytes);
        for (int i = 0; i < launches; ++i) {
            if (me == 0) {
                quiets<<<1, 32>>>(each, to, from, bytes, n, 1 /* PE */, ns);
                need(cudaGetLastError(), "launch a kernel");
                need(cudaDeviceSynchronize(), "run a kernel");
                if (i > 0)
                    us.push_back((double)*ns / n / 1e3);
            }
            next += 1;
            shmem_barrier_all();
        }
        compare(name, false, bytes, want);
        if (me == 0)
            row(BENCH_SYSTEM, {name, "nbi", bytes, 1, 32, "us"}, us);
    }
};

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    std::vector<size_t> sizes;
    arguments(argc, argv, largest, names, sizes);
    if (sizes.empty())
        sizes = {8, 1024, 7168, 65536, 1 << 20};
    start();
    bench b;
    for (size_t bytes : sizes) {
        if (wanted(names, "signal")) {
            b.signal("nbi", true, false, bytes, 1, 32);
            b.signal("nbi", true, false, bytes, 8, 256);
            b.signal("put", false, false, bytes, 8, 256);
            if (bytes <= scattered)
                b.signal("nbi, scattered", true, true, bytes, 8, 256);
        }
        if (wanted(names, "quiet")) {
            b.quiet("burst_quiet_each", true, bytes);
            b.quiet("burst_quiet_end", false, bytes);
        }
    }
    shmem_finalize();
    return 0;
}
