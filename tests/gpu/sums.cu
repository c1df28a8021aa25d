/*
 * sums.cu: additions to the same words of PE 0 by all PEs at once, each PE by its own route: PE 0
 * itself, PEs that reach it by loads and stores, and PEs that reach it through the ring and the
 * network. No addition may be lost, and no two fetching additions may return the same value.
 *
 * shmemrun -n 3 --hosts 2 -x SHMEM_PROVIDER=tcp sums [ADDITIONS]
 *
 * A PE without a GPU adds by host calls.
 */
#include "try.h"

#include <algorithm>

namespace kernels
{

constexpr unsigned THREADS = 256;

struct board {
    uint64_t plain, told, signal, wide;
    uint32_t narrow, bits;
};

/* Thread i makes every THREADS-th addition; told has the results of the fetching ones. */
KERNEL add(board *b, uint64_t times, uint64_t *told, uint64_t answers)
{
    for (uint64_t i = threadIdx.x; i < times; i += blockDim.x) {
        shmem_uint64_atomic_add(&b->plain, 1, 0);
        if (i < answers) {
            told[i] = shmem_uint64_atomic_fetch_add(&b->told, 1, 0);
            shmem_uint32_atomic_inc(&b->narrow, 0);
            shmem_uint64_atomic_add(&b->wide, (uint64_t)1 << 40, 0);
            shmemx_signal_op(&b->signal, 3, SHMEM_SIGNAL_ADD, 0);
            shmem_uint32_atomic_xor(&b->bits, 1u << i % 32, 0);
        }
    }
    shmem_quiet();
}

void add_by_host(board *b, uint64_t times, uint64_t *told, uint64_t answers)
{
    for (uint64_t i = 0; i < times; i++) {
        shmem_uint64_atomic_add(&b->plain, 1, 0);
        if (i < answers) {
            told[i] = shmem_uint64_atomic_fetch_add(&b->told, 1, 0);
            shmem_uint32_atomic_inc(&b->narrow, 0);
            shmem_uint64_atomic_add(&b->wide, (uint64_t)1 << 40, 0);
            shmem_signal_add(&b->signal, 3, 0);
            shmem_uint32_atomic_xor(&b->bits, 1u << i % 32, 0);
        }
    }
    shmem_quiet();
}

void run(uint64_t times)
{
    int gpus = 0;
    bool gpu = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
    uint64_t answers = std::min<uint64_t>(times, 4096);
    board *b = (board *)shmem_calloc(1, sizeof(board));
    uint64_t *all = (uint64_t *)shmem_malloc(8 * answers * (uint64_t)pes);
    std::vector<uint64_t> told(answers);
    shmem_barrier_all();
    if (gpu) {
        uint64_t *near = (uint64_t *)(void *)own_memory(8 * answers);
        LAUNCH(THREADS, add, b, times, near, answers);
        copy_memory(told.data(), near, 8 * answers);
    } else {
        add_by_host(b, times, told.data(), answers);
    }
    uint64_t beyond = 0;
    for (uint64_t i = 0; i < answers; i++)
        beyond += told[i] >= answers * (uint64_t)pes;
    expect(beyond == 0, "answers beyond the sum: " + std::to_string(beyond));
    shmem_putmem(all + (uint64_t)me * answers, told.data(), 8 * answers, 0);
    shmem_barrier_all();
    if (me != 0)
        return;
    board have;
    std::vector<uint64_t> seen(answers * (uint64_t)pes);
    shmem_getmem(&have, b, sizeof have, 0);
    shmem_getmem(seen.data(), all, 8 * seen.size(), 0);
    std::sort(seen.begin(), seen.end());
    uint64_t n = (uint64_t)pes, wrong_answers = 0;
    for (uint64_t i = 0; i < seen.size(); i++)
        wrong_answers += seen[i] != i;
    auto sum = [](const char *what, uint64_t got, uint64_t want) {
        expect(got == want,
               std::string(what) + ": " + std::to_string(got) + ", want " + std::to_string(want));
    };
    sum("additions", have.plain, times * n);
    sum("additions that answer", have.told, answers * n);
    sum("answers that another was given, too", wrong_answers, 0);
    sum("increments of 4 bytes", have.narrow, answers * n);
    sum("additions of 2^40", have.wide, (answers * n) << 40);
    sum("additions to a signal", have.signal, 3 * answers * n);
    uint32_t bits = 0;
    for (uint64_t i = 0; i < answers * n; i++)
        bits ^= 1u << i % answers % 32;
    sum("exclusive or", have.bits, bits);
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("sums");
    kernels::run(argc > 1 ? strtoull(argv[1], NULL, 10) : 10000);
    return end();
}
