/*
 * atomic: additions to a word of PE 1 by PE 0's kernel, one after the other by one thread: some
 * that fetch, and some that do not, with a quiet after each.
 */
#include "names.h"
#include "rows.h"
#include "scope.cuh"
#include "start.h"

namespace
{

const int launches = 8; // the first is not counted
const int n = 2000;

// n additions of 1 after n / 10 that are not timed; *ns gets the nanoseconds of the n.
template <bool FETCH> __global__ void add(uint64_t *word, uint64_t *ns, uint64_t *last)
{
    uint64_t begin = 0;
    for (int i = 0; i < n / 10 + n; ++i) {
        if (i == n / 10)
            begin = clock_ns();
        if (FETCH) {
            // The next addition waits for the fetched value, so the additions cannot overlap. The
            // word never has this value, which the compiler cannot know.
            uint64_t old = shmem_uint64_atomic_fetch_add(word, 1, 1 /* PE */);
            if (old == ~uint64_t(0))
                break;
            *last = old;
        } else {
            shmem_uint64_atomic_add(word, 1, 1 /* PE */);
            shmem_quiet();
        }
    }
    *ns = clock_ns() - begin;
}

// Launches the kernel on PE 0, and prints the microseconds of an addition.
template <bool FETCH> void run(uint64_t *word, uint64_t *ns, uint64_t *last)
{
    std::vector<double> us;
    for (int i = 0; i < launches; ++i) {
        add<FETCH><<<1, 1>>>(word, ns, last);
        need(cudaGetLastError(), "launch a kernel");
        need(cudaDeviceSynchronize(), "run a kernel");
        if (i > 0)
            us.push_back((double)*ns / n / 1e3);
    }
    row(BENCH_SYSTEM, {FETCH ? "fetch_add" : "add_quiet", "thread", 8, 1, 1, "us"}, us);
}

} // namespace

int main()
{
    start();
    auto *word = static_cast<uint64_t *>(symmetric(128));
    uint64_t *ns, *last, sum = 0;
    need(cudaHostAlloc(&ns, sizeof *ns, cudaHostAllocDefault), "allocate a time");
    need(cudaMalloc(&last, sizeof *last), "allocate a word");
    need(cudaMemset(word, 0, 128), "clear the word");
    need(cudaDeviceSynchronize(), "clear the word");
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        run<true>(word, ns, last);
        run<false>(word, ns, last);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 1) {
        need(cudaMemcpy(&sum, word, sizeof sum, cudaMemcpyDeviceToHost), "read the word");
        if (sum != 2ull * launches * (n / 10 + n))
            give_up("atomic", "the word is not the number of the additions");
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
