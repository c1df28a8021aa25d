/*
 * stream: host calls on a stream, one after the other without a wait between them; events before
 * and after the sequence of calls give its time.
 *
 * stream [reduce] [barrier] [put]
 */
#include "names.h"
#include "rows.h"
#include "start.h"

namespace
{

const size_t largest = 64 << 20;

struct bench {
    char *to, *from;
    cudaStream_t stream;
    cudaEvent_t begin, end;

    bench()
    {
        to = static_cast<char *>(symmetric(largest));
        from = static_cast<char *>(symmetric(largest));
        need(cudaMemset(from, 0, largest), "clear the source");
        need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
        need(cudaEventCreate(&begin), "create an event");
        need(cudaEventCreate(&end), "create an event");
        need(cudaDeviceSynchronize(), "clear memory");
        shmem_barrier_all();
    }

    // us a call, of n calls in a row on both PEs, 7 times.
    template <typename Call> std::vector<double> time(int n, Call call)
    {
        std::vector<double> us;
        for (int rep = 0; rep < 8; ++rep) {
            float ms = 0;
            shmem_barrier_all();
            need(cudaEventRecord(begin, stream), "record an event");
            for (int i = 0; i < n; ++i)
                call();
            need(cudaEventRecord(end, stream), "record an event");
            need(cudaStreamSynchronize(stream), "wait for the stream");
            need(cudaEventElapsedTime(&ms, begin, end), "read a time");
            if (rep > 0)
                us.push_back(ms * 1e3 / n);
        }
        return us;
    }

    void report(const char *name, size_t bytes, const char *unit, const std::vector<double> &v)
    {
        if (shmem_my_pe() == 0)
            row(BENCH_SYSTEM, {name, "stream", bytes, 0, 0, unit}, v);
    }
};

// The part reduce: first one sum that is checked, then the times.
void reduce(bench &b)
{
    auto *source = (float *)b.from, *target = (float *)b.to;
    std::vector<float> ones(1024, 1.0f + (float)shmem_my_pe()), sums(1024);
    need(cudaMemcpy(source, ones.data(), 4096, cudaMemcpyHostToDevice), "fill the source");
    shmem_barrier_all();
    shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, target, source, 1024, b.stream);
    need(cudaStreamSynchronize(b.stream), "wait for the stream");
    need(cudaMemcpy(sums.data(), target, 4096, cudaMemcpyDeviceToHost), "read the sums");
    for (float sum : sums)
        if (sum != 3.0f)
            give_up("sum_reduce", "the sum of 1 and 2 is not 3");
    for (size_t bytes : {4, 64, 1024, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20}) {
        auto us = b.time(bytes > (1 << 20) ? 50 : 200, [&] {
            shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, target, source, bytes / 4,
                                              b.stream);
        });
        b.report("sum_reduce_on_stream", bytes, "us", us);
    }
}

void barrier(bench &b)
{
    auto us = b.time(200, [&] { shmemx_barrier_all_on_stream(b.stream); });
    b.report("barrier_on_stream", 0, "us", us);
}

// From PE 0 only; the other one waits in time's barriers.
void put(bench &b)
{
    for (size_t bytes : {size_t(8), size_t(65536), size_t(1 << 20), largest}) {
        bool puts = shmem_my_pe() == 0;
        auto v = b.time(bytes > (1 << 20) ? 20 : 100, [&] {
            if (puts)
                shmemx_putmem_on_stream(b.to, b.from, bytes, 1, b.stream);
        });
        b.report("put_on_stream", bytes, "us", v);
        for (double &x : v)
            x = (double)bytes / x / 1e3;
        b.report("put_on_stream_bandwidth", bytes, "GB/s", v);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    start();
    bench b;
    if (wanted(names, "reduce"))
        reduce(b);
    if (wanted(names, "barrier"))
        barrier(b);
    if (wanted(names, "put"))
        put(b);
    shmem_finalize();
    return 0;
}
