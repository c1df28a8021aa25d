/*
 * signal: round trips between kernels of two PEs: a signal, a put with a signal, or a put with a
 * notification, and the same operation as the answer.
 *
 * signal [signal] [put_signal] [put_notify] [BYTES...]
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const size_t largest = 1 << 20;
const int launches = 8; // the first is not counted

enum trip { SIGNAL, PUT_SIGNAL, PUT_NOTIFY };

const int counter = 0; // the notification counter

// Waits until a signal, or the notification counter, is at least value: one thread polls, and the
// others wait for it.
template <scope S, trip T>
__device__ __forceinline__ void await_trip(uint64_t *signal, uint64_t value)
{
#ifndef BENCH_NVSHMEM
    if (T == PUT_NOTIFY) {
        if (threadIdx.x == 0)
            shmemx_notify_wait(counter, value);
        join<S>();
        return;
    }
#endif
    await<S>(signal, value);
}

// Trips of both PEs: PE 0 begins each. n trips after n / 10 that are not timed; *ns gets the
// nanoseconds of the n. Values of signals and notifications continue from launch to launch (first),
// so they are never reset.
template <scope S, trip T>
__global__ void __launch_bounds__(1024) trips(char *to, char *from, size_t bytes, uint64_t *signal,
                                              uint64_t first, int n, int me, uint64_t *ns)
{
    uint64_t begin = 0;
    int skip = n / 10;
    for (int i = 0; i < skip + n; ++i) {
        if (i == skip)
            begin = clock_ns();
        uint64_t value = first + i;
        if (me == 1)
            await_trip<S, T>(signal, value);
        if (T == PUT_SIGNAL)
            put_signal<S>(to, from, bytes, signal, value, 1 - me);
#ifndef BENCH_NVSHMEM
        else if (T == PUT_NOTIFY)
            put_notify<S>(to, from, bytes, counter, 1 - me);
#endif
        else if (threadIdx.x == 0)
            shmemx_signal_op(signal, value, SHMEM_SIGNAL_SET, 1 - me);
        if (me == 0)
            await_trip<S, T>(signal, value);
    }
    if (threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

struct bench {
    char *to, *from;
    uint64_t *signal, *ns;
    uint64_t next = 1, notified = 1; // the values of the next trips

    bench()
    {
        to = static_cast<char *>(symmetric(largest));
        from = static_cast<char *>(symmetric(largest));
        signal = static_cast<uint64_t *>(symmetric(128));
        need(cudaMemset(signal, 0, 128), "clear the signal");
        need(cudaMemset(from, 1, largest), "clear the source");
        need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
        need(cudaDeviceSynchronize(), "clear memory");
        shmem_barrier_all();
    }

    // Prints us a round trip.
    template <scope S, trip T>
    void run(const char *name, const char *how, size_t bytes, int threads, int n)
    {
        std::vector<double> us;
        uint64_t &first = T == PUT_NOTIFY ? notified : next;
        for (int i = 0; i < launches; ++i) {
            trips<S, T><<<1, threads>>>(to, from, bytes, signal, first, n, shmem_my_pe(), ns);
            need(cudaGetLastError(), "launch a kernel");
            need(cudaDeviceSynchronize(), "run a kernel");
            first += n + n / 10;
            if (i > 0)
                us.push_back((double)*ns / n / 1e3);
            shmem_barrier_all();
        }
        if (shmem_my_pe() == 0)
            row(BENCH_SYSTEM, {name, how, bytes, 1, threads, "us"}, us);
    }
};

// Runs a trip with bytes in all scopes that suit each size.
template <trip T> void puts_of(bench &b, const char *name, const std::vector<size_t> &sizes)
{
    for (size_t bytes : sizes) {
        int n = bytes > 65536 ? 200 : 1000;
        if (bytes <= 4096)
            b.run<THREAD, T>(name, "thread", bytes, 1, n);
        if (bytes <= 65536)
            b.run<WARP, T>(name, "warp", bytes, 32, n);
        for (int threads : {256, 1024})
            b.run<BLOCK, T>(name, "block", bytes, threads, n);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    std::vector<size_t> sizes;
    arguments(argc, argv, largest, names, sizes);
    if (sizes.empty())
        sizes = {8, 16, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20};
    start();
    bench b;
    if (wanted(names, "signal"))
        b.run<THREAD, SIGNAL>("signal_round_trip", "thread", 0, 1, 2000);
    if (wanted(names, "put_signal"))
        puts_of<PUT_SIGNAL>(b, "put_signal_round_trip", sizes);
#ifndef BENCH_NVSHMEM
    if (wanted(names, "put_notify"))
        puts_of<PUT_NOTIFY>(b, "put_notify_round_trip", sizes);
#endif
    shmem_finalize();
    return 0;
}
