/*
 * mixed.cu: PEs with and without a GPU in one job. A PE with a GPU works in a kernel, a PE without
 * one in a host thread; the source is the same. So data and its flag are in heaps of all kinds.
 *
 * shmemrun -n 3 tests/gpu/mixed.sh '* * -' mixed [ROUNDS]
 */
#include "try.h"

namespace kernels
{

constexpr int SMALL = 64, BIG = 2048; /* words: 512 bytes and 16 KiB */

struct board {
    uint64_t data[BIG], far[BIG], flag, signal, told, ack, count, token;
};

enum question { PUT, SIGNAL, NOTIFY, THIRD, GET, QUESTIONS };
const char *const names[QUESTIONS] = {"put, fence, p", "put_signal", "putmem_notify",
                                      "put to one PE, quiet, flag at another", "get"};

BOTH int differs(const uint64_t *words, int n, uint64_t first)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += words[i] != first + (uint64_t)i;
    return bad;
}

/* own: memory of this PE that is not symmetric, 2 * BIG words. */
BOTH void converse(board *b, uint64_t *own, uint64_t rounds, int self, int n, unsigned *bad)
{
    int next = (self + 1) % n, last = (self + n - 1) % n, second = (self + 2) % n;
    int before = (self + n - 2) % n;
    uint64_t *got = own + BIG;
    for (uint64_t round = 1; round <= rounds; round++) {
        int words = round % 4 == 3 ? BIG : SMALL;
        size_t bytes = (size_t)words * 8;
        for (int i = 0; i < words; i++)
            own[i] = round * 1000 + (uint64_t)(self * 100 + i);

        shmem_putmem(b->data, own, bytes, next);
        shmem_fence();
        shmem_uint64_p(&b->flag, round, next);
        shmem_uint64_wait_until(&b->flag, SHMEM_CMP_EQ, round);
        shmem_getmem(got, b->data, bytes, self);
        bad[PUT] += (unsigned)differs(got, words, round * 1000 + (uint64_t)last * 100);
        shmem_uint64_p(&b->ack, 3 * round, last);
        shmem_uint64_wait_until(&b->ack, SHMEM_CMP_GE, 3 * round);

        shmem_putmem_signal(b->data, own, bytes, &b->signal, 1, SHMEM_SIGNAL_ADD, next);
        shmem_signal_wait_until(&b->signal, SHMEM_CMP_EQ, round);
        shmem_getmem(got, b->data, bytes, self);
        bad[SIGNAL] += (unsigned)differs(got, words, round * 1000 + (uint64_t)last * 100);

        shmemx_putmem_notify(b->far, own, bytes, 5, next);
        shmemx_notify_wait(5, round);
        shmem_getmem(got, b->far, bytes, self);
        bad[NOTIFY] += (unsigned)differs(got, words, round * 1000 + (uint64_t)last * 100);
        shmem_uint64_p(&b->ack, 3 * round + 1, last);
        shmem_uint64_wait_until(&b->ack, SHMEM_CMP_GE, 3 * round + 1);

        /* The next PE gets the data, and the PE after it is informed. */
        shmem_putmem_nbi(b->far, own, bytes, next);
        shmem_quiet();
        shmem_uint64_p(&b->told, round, second);
        shmem_uint64_wait_until(&b->told, SHMEM_CMP_EQ, round);
        shmem_getmem(got, b->far, bytes, last);
        bad[THIRD] += (unsigned)differs(got, words, round * 1000 + (uint64_t)before * 100);
        shmem_getmem_nbi(got, b->data, bytes, next);
        shmem_quiet();
        bad[GET] += (unsigned)differs(got, words, round * 1000 + (uint64_t)self * 100);

        /* No PE writes the next round before all have read this one. */
        for (int pe = 0; pe < n; pe++)
            shmem_uint64_atomic_add(&b->count, 1, pe);
        shmem_uint64_wait_until(&b->count, SHMEM_CMP_GE, round * (uint64_t)n);
    }
    shmem_quiet();
}

KERNEL converse_there(board *b, uint64_t *own, uint64_t rounds, int self, int n, unsigned *bad)
{
    converse(b, own, rounds, self, n, bad);
}

void run(uint64_t rounds)
{
    int gpus = 0;
    bool gpu = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
    unsigned bad[QUESTIONS] = {};
    board *b = (board *)shmem_calloc(1, sizeof(board));
    shmem_barrier_all();
    if (gpu) {
        uint64_t *own = (uint64_t *)(void *)own_memory(16 * BIG);
        unsigned *bad_there = (unsigned *)(void *)own_memory(sizeof bad);
        LAUNCH(1, converse_there, b, own, rounds, me, pes, bad_there);
        copy_memory(bad, bad_there, sizeof bad);
    } else {
        std::vector<uint64_t> own(2 * BIG);
        converse(b, own.data(), rounds, me, pes, bad);
    }
    for (int q = 0; q < QUESTIONS; q++)
        expect(bad[q] == 0, std::string(gpu ? "kernel: " : "host: ") + names[q] + ": " +
                                std::to_string(bad[q]) + " words of old data");
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("mixed");
    kernels::run(argc > 1 ? strtoull(argv[1], NULL, 10) : 100);
    return end();
}
