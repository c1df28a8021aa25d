/*
 * alltoall: exchanges of two PEs, one after the other: by a block of a kernel, and on a stream.
 *
 * alltoall [block] [stream]
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const int launches = 8;         // of a kernel, or sequences of calls; the first is not counted
const size_t largest = 4 << 20; // bytes for each PE

float *to, *from; // symmetric: two blocks, one for each PE

// n exchanges after n / 10 that are not timed; *ns gets the nanoseconds of the n.
__global__ void __launch_bounds__(1024)
    exchange(float *dest, const float *source, size_t nelems, int n, uint64_t *ns)
{
    uint64_t begin = 0;
    for (int i = 0; i < n / 10 + n; ++i) {
        if (i == n / 10)
            begin = clock_ns();
        shmemx_float_alltoall_block(SHMEM_TEAM_WORLD, dest, source, nelems);
    }
    if (threadIdx.x == 0)
        *ns = clock_ns() - begin;
}

// Word i that PE pe sends to PE other.
float word(int pe, int other, size_t i)
{
    return (float)(pe * 2 + other + 1) + (float)(i % 1024) * 4;
}

// Prepares an exchange of nelems floats for each PE. Both PEs make the call.
void fill(size_t nelems)
{
    std::vector<float> words(2 * nelems);
    for (size_t i = 0; i < words.size(); ++i)
        words[i] = word(shmem_my_pe(), (int)(i / nelems), i % nelems);
    need(cudaMemset(to, 0, 2 * nelems * 4), "clear the target");
    need(cudaMemcpy(from, words.data(), 2 * nelems * 4, cudaMemcpyHostToDevice), "fill the source");
    need(cudaDeviceSynchronize(), "clear memory");
    shmem_barrier_all();
}

// Ends the program if a word of the target is not the one that its PE has sent.
void check(size_t nelems)
{
    std::vector<float> words(2 * nelems);
    need(cudaMemcpy(words.data(), to, 2 * nelems * 4, cudaMemcpyDeviceToHost), "read the target");
    for (size_t i = 0; i < words.size(); ++i)
        if (words[i] != word((int)(i / nelems), shmem_my_pe(), i % nelems))
            give_up("alltoall", "a word differs from the one that was sent");
}

// On PE 0: prints a row. threads 0: the calls are those of the host, and have no block.
void report(const char *name, const char *how, size_t bytes, int threads,
            const std::vector<double> &us)
{
    if (shmem_my_pe() == 0)
        row(BENCH_SYSTEM, {name, how, bytes, threads != 0, threads, "us"}, us);
}

// The part block: exchanges by one block of a kernel.
void block()
{
    uint64_t *ns;
    need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
    for (int threads : {256, 1024})
        for (size_t bytes : {size_t(1024), size_t(8 << 10), size_t(64 << 10)}) {
            const int n = 500;
            std::vector<double> us;
            fill(bytes / 4);
            for (int i = 0; i < launches; ++i) {
                shmem_barrier_all();
                exchange<<<1, threads>>>(to, from, bytes / 4, n, ns);
                need(cudaGetLastError(), "launch a kernel");
                need(cudaDeviceSynchronize(), "run a kernel");
                if (i > 0)
                    us.push_back((double)*ns / n / 1e3);
            }
            check(bytes / 4);
            report("alltoall", "block", bytes, threads, us);
        }
    need(cudaFreeHost(ns), "free a time");
}

// The part stream: exchanges on a stream.
void stream()
{
    cudaStream_t stream;
    cudaEvent_t begin, end;
    need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
    need(cudaEventCreate(&begin), "create an event");
    need(cudaEventCreate(&end), "create an event");
    for (size_t bytes : {size_t(1024), size_t(64 << 10), largest}) {
        const int n = 100;
        std::vector<double> us;
        fill(bytes / 4);
        for (int i = 0; i < launches; ++i) {
            float ms = 0;
            shmem_barrier_all();
            need(cudaEventRecord(begin, stream), "record an event");
            for (int k = 0; k < n; ++k)
                shmemx_float_alltoall_on_stream(SHMEM_TEAM_WORLD, to, from, bytes / 4, stream);
            need(cudaEventRecord(end, stream), "record an event");
            need(cudaStreamSynchronize(stream), "wait for the stream");
            need(cudaEventElapsedTime(&ms, begin, end), "read a time");
            if (i > 0)
                us.push_back(ms * 1e3 / n);
        }
        check(bytes / 4);
        report("alltoall_on_stream", "stream", bytes, 0, us);
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> names(argv + 1, argv + argc);
    start();
    to = static_cast<float *>(symmetric(2 * largest));
    from = static_cast<float *>(symmetric(2 * largest));
    if (wanted(names, "block"))
        block();
    if (wanted(names, "stream"))
        stream();
    shmem_finalize();
    return 0;
}
