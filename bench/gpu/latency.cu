/*
 * latency: one operation of PE 0's kernel on PE 1 and the quiet after it, repeated by one thread,
 * one warp or one block; and the cost of quiet when it does not follow each operation. The kernel
 * times its own loop.
 *
 * latency [quiet] [ways] [few]
 *   quiet    put, get and p with quiet after each, by scope and size
 *   ways     put and put_nbi, with quiet after each, after 16, or at the end
 *   few      only when named: of quiet, p and three sizes of a block, with three launches
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

enum operation { P, PUT, PUT_NBI, GET };
const size_t largest = 1 << 20;

// The operation with number i.
template <scope S, operation O>
__device__ __forceinline__ void once(char *to, char *from, size_t bytes, uint64_t i, int peer)
{
    switch (O) {
    case P:
        shmem_uint64_p((uint64_t *)to, i, peer);
        break;
    case PUT:
        put<S>(to, from, bytes, peer);
        break;
    case PUT_NBI:
        put_nbi<S>(to, from, bytes, peer);
        break;
    case GET:
        get<S>(from, to, bytes, peer);
        break;
    }
}

// n operations after n / 10 that are not timed; *ns gets the nanoseconds of the n. every: how many
// operations a quiet follows; 0: one quiet at the end.
template <scope S, operation O>
__global__ void loop(char *to, char *from, size_t bytes, int n, int every, int peer, uint64_t *ns)
{
    uint64_t begin = 0;
    int skip = n / 10;
    for (int i = 0; i < skip + n; ++i) {
        if (i == skip) {
            quiet<S>();
            begin = clock_ns();
        }
        once<S, O>(to, from, bytes, i, peer);
        if (every == 1 || (every > 1 && i % every == every - 1))
            quiet<S>();
    }
    if (every != 1)
        quiet<S>();
    if (threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

struct bench {
    char *to, *from;
    uint64_t *ns;
    int launches = 7;

    bench()
    {
        to = static_cast<char *>(symmetric(largest));
        from = static_cast<char *>(symmetric(largest));
        need(cudaMemset(to, 0, largest), "clear the target");
        need(cudaMemset(from, 1, largest), "clear the source");
        need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
        need(cudaDeviceSynchronize(), "clear memory");
        shmem_barrier_all();
    }

    // Prints us an operation on PE 1; every is that of loop. The first launch, which does not
    // count, finds how many operations take some 10 ms.
    template <scope S, operation O>
    void run(const char *name, const char *how, size_t bytes, int threads, int every)
    {
        std::vector<double> us;
        int n = 50;
        for (int i = 0; i <= launches; ++i) {
            loop<S, O><<<1, threads>>>(to, from, bytes, n, every, 1 /* PE */, ns);
            need(cudaGetLastError(), "launch a kernel");
            need(cudaDeviceSynchronize(), "run a kernel");
            double each = (double)*ns / n / 1e3;
            if (i == 0)
                n = (int)std::max(20.0, std::min(2000.0, 10e3 / each));
            else
                us.push_back(each);
        }
        row(BENCH_SYSTEM, {name, how, bytes, 1, threads, "us"}, us);
    }

    // Runs an operation in all scopes that suit the size.
    template <operation O> void scopes(const char *name, size_t bytes, int every)
    {
        if (bytes <= 4096)
            run<THREAD, O>(name, "thread", bytes, 1, every);
        if (bytes <= 65536)
            run<WARP, O>(name, "warp", bytes, 32, every);
        for (int threads : {256, 1024})
            run<BLOCK, O>(name, "block", bytes, threads, every);
    }
};

// The part quiet.
void each(bench &b)
{
    b.run<THREAD, P>("p_quiet", "thread", 8, 1, 1);
    for (size_t bytes : {8, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20}) {
        b.scopes<PUT>("put_quiet", bytes, 1);
        b.scopes<GET>("get_quiet", bytes, 1);
    }
}

// The part few.
void few(bench &b)
{
    b.launches = 3;
    b.run<THREAD, P>("p_quiet", "thread", 8, 1, 1);
    for (size_t bytes : {16, 1024, 65536}) {
        b.run<BLOCK, PUT>("put_quiet", "block", bytes, 256, 1);
        b.run<BLOCK, GET>("get_quiet", "block", bytes, 256, 1);
    }
}

// The part ways.
void ways(bench &b)
{
    for (size_t bytes : {8, 64, 512, 4096, 32768, 262144}) {
        b.scopes<PUT>("put, quiet after each", bytes, 1);
        b.scopes<PUT_NBI>("put_nbi, quiet after each", bytes, 1);
        b.scopes<PUT_NBI>("put_nbi, quiet after 16", bytes, 16);
        b.scopes<PUT>("put, quiet at the end", bytes, 0);
        b.scopes<PUT_NBI>("put_nbi, quiet at the end", bytes, 0);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    start();
    bench b;
    if (shmem_my_pe() == 0) {
        if (wanted(names, "quiet"))
            each(b);
        if (wanted(names, "ways"))
            ways(b);
        if (!names.empty() && wanted(names, "few"))
            few(b);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
