/*
 * litmus.cu: the visibility of writes between kernels of two PEs or more, many rounds of each
 * question of docs/concepts/memory-model.md. Rounds run within one kernel, so that they follow each
 * other as closely as the machine can.
 *
 * shmemrun -n 2 litmus [ROUNDS] [mutant]
 *
 * mutant: the flag is written before the data, which the checks must notice.
 */
#include "try.h"

namespace kernels
{

constexpr int SMALL = 64, BIG = 2048; /* words of a message: 512 bytes and 16 KiB */
constexpr int LATE = 200; /* round trips: 20 go unnoticed between two PEs on one GPU (H100) */
#ifdef EMULATED
constexpr unsigned WARP = 5, THREADS = 5;
constexpr uint64_t ROUNDS = 10;
static inline void tally(unsigned *sum, unsigned n)
{
    __atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}
#else
constexpr unsigned WARP = 32, THREADS = 64;
constexpr uint64_t ROUNDS = 1000;
static __device__ void tally(unsigned *sum, unsigned n)
{
    atomicAdd(sum, n);
}
#endif

enum way { by_p, by_put, by_nbi, by_quiet, by_set, by_signal, by_signal_add, by_late_data, WAYS };
const char *const names[WAYS] = {"p, fence, p",
                                 "put, fence, p",
                                 "put_nbi, fence, signal_op",
                                 "put_nbi, quiet, p",
                                 "atomic_set, fence, atomic_set",
                                 "put_signal, set",
                                 "put_signal, add",
                                 "p, put"};
const char *const scopes[] = {"thread", "warp", "block"};

struct board {
    uint64_t data[BIG], flag, ack, there, here, hop[2], x, y;
};

/* Sends round's message of n words. All threads of the block make this call. */
template <int SCOPE>
__device__ void send(int way, board *b, uint64_t *source, int n, uint64_t round, int pe)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        source[i] = round * 7 + (uint64_t)i;
    __syncthreads();
    if (way == by_late_data) {
        if (threadIdx.x == 0)
            shmem_uint64_p(&b->flag, round, pe);
        /* One of two PEs is late, or both would read when both had sent. */
        if (threadIdx.x == 0 && ((round ^ (uint64_t)shmem_my_pe()) & 1) != 0)
            for (int k = 0; k < LATE; k++)
                (void)shmem_uint64_g(&b->flag, pe);
        __syncthreads();
    }
    unsigned members = SCOPE == thread ? 1 : SCOPE == warp ? WARP : THREADS;
    if (threadIdx.x < members) {
        const size_t bytes = (size_t)n * 8;
        switch (way) {
        case by_p:
            for (int i = (int)threadIdx.x; i < n; i += (int)members)
                shmem_uint64_p(b->data + i, source[i], pe);
            break;
        case by_set:
            for (int i = (int)threadIdx.x; i < n; i += (int)members)
                shmem_uint64_atomic_set(b->data + i, source[i], pe);
            break;
        case by_put:
        case by_late_data:
            if (SCOPE == thread)
                shmem_putmem(b->data, source, bytes, pe);
            else if (SCOPE == warp)
                shmemx_putmem_warp(b->data, source, bytes, pe);
            else
                shmemx_putmem_block(b->data, source, bytes, pe);
            break;
        case by_nbi:
        case by_quiet:
            if (SCOPE == thread)
                shmem_putmem_nbi(b->data, source, bytes, pe);
            else if (SCOPE == warp)
                shmemx_putmem_nbi_warp(b->data, source, bytes, pe);
            else
                shmemx_putmem_nbi_block(b->data, source, bytes, pe);
            break;
        default: {
            int op = way == by_signal ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
            uint64_t value = way == by_signal ? round : 1;
            if (SCOPE == thread)
                shmem_putmem_signal(b->data, source, bytes, &b->flag, value, op, pe);
            else if (SCOPE == warp)
                shmemx_putmem_signal_warp(b->data, source, bytes, &b->flag, value, op, pe);
            else
                shmemx_putmem_signal_block(b->data, source, bytes, &b->flag, value, op, pe);
        }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (way == by_quiet)
            shmem_quiet();
        else if (way < by_signal)
            shmem_fence();
        if (way == by_nbi)
            shmemx_signal_op(&b->flag, round, SHMEM_SIGNAL_SET, pe);
        else if (way == by_set)
            shmem_uint64_atomic_set(&b->flag, round, pe);
        else if (way < by_signal)
            shmem_uint64_p(&b->flag, round, pe);
    }
}

/* Returns the wrong words of the message; each thread reads its share in one of five ways. */
__device__ int look(board *b, uint64_t *copy, int n, uint64_t round, int self)
{
    int bad = 0, how = (int)(round % 5);
    if (how == 4) {
        shmemx_getmem_block(copy, b->data, (size_t)n * 8, self);
        __syncthreads();
    }
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        uint64_t v;
        if (how == 0)
            v = b->data[i];
        else if (how == 1)
            v = *(volatile uint64_t *)&b->data[i];
        else if (how == 2)
            v = shmem_uint64_g(b->data + i, self);
        else if (how == 3)
            v = shmem_uint64_atomic_fetch(b->data + i, self);
        else
            v = copy[i];
        bad += v != round * 7 + (uint64_t)i;
    }
    return bad;
}

/* Every PE sends to the next and receives from the previous one. */
template <int SCOPE>
KERNEL pass(int way, board *b, uint64_t *source, uint64_t rounds, int right, int left,
            unsigned *bad)
{
    int self = shmem_my_pe();
    for (uint64_t round = 1; round <= rounds; round++) {
        int n = round % 8 == 7 || way == by_late_data ? BIG : SMALL;
        if (way == by_p || way == by_set)
            n = SMALL;
        send<SCOPE>(way, b, source, n, round, right);
        if (threadIdx.x == 0) {
            if (round & 1)
                shmem_uint64_wait_until(&b->flag, SHMEM_CMP_EQ, round);
            else
                (void)shmem_signal_wait_until(&b->flag, SHMEM_CMP_GE, round);
        }
        __syncthreads();
        int wrong_words = look(b, source + BIG, n, round, self);
        if (wrong_words != 0)
            tally(bad, (unsigned)wrong_words);
        __syncthreads();
        if (threadIdx.x == 0) {
            shmem_uint64_p(&b->ack, round, left);
            shmem_uint64_wait_until(&b->ack, SHMEM_CMP_GE, round);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        shmem_quiet();
}

/*
 * Two PEs write a word each, complete it, and read the other's: at least one must see the other's
 * write. mine and other are the places of the words.
 */
KERNEL cross(board *b, uint64_t rounds, int self, int peer, int at_mine, int at_other,
             uint64_t *seen)
{
    uint64_t *mine = self == 0 ? &b->x : &b->y, *other = self == 0 ? &b->y : &b->x;
    for (uint64_t round = 1; round <= rounds; round++) {
        shmem_uint64_p(&b->there, round, peer);
        shmem_uint64_wait_until(&b->there, SHMEM_CMP_GE, round);
        shmem_uint64_p(mine, round, at_mine);
        shmem_quiet();
        seen[round - 1] = shmem_uint64_g(other, at_other);
        shmem_uint64_p(&b->here, round, peer);
        shmem_uint64_wait_until(&b->here, SHMEM_CMP_GE, round);
    }
    shmem_quiet();
}

#ifndef EMULATED
/*
 * PE 0 counts x up and PE 1 y, while a block of each PE reads both, in orders that are opposite.
 * The readers must agree on the order.
 */
KERNEL race(board *b, uint64_t rounds, int self, uint64_t *seen)
{
    if (threadIdx.x != 0)
        return;
    uint64_t *mine = self == 0 ? &b->x : &b->y, *other = self == 0 ? &b->y : &b->x;
    if (blockIdx.x == 0) {
        for (uint64_t round = 1; round <= rounds; round++) {
            shmem_uint64_atomic_set(mine, round, self);
            if (round % 16 == 0)
                __nanosleep(200);
        }
    } else {
        for (uint64_t i = 0; i < rounds; i++) {
            seen[2 * i] = shmem_uint64_atomic_fetch(mine, self);
            shmem_quiet();
            seen[2 * i + 1] = shmem_uint64_atomic_fetch(other, 1 - self);
            shmem_quiet();
        }
    }
}
#endif

/*
 * Data that a PE has completed at a second one is visible to a PE that a third one has informed: PE
 * p puts to p + 2, completes the put, informs p + 1, and that one informs p + 2.
 */
KERNEL relay(board *b, uint64_t *source, uint64_t rounds, int self, int n, unsigned *bad)
{
    int next = (self + 1) % n, second = (self + 2) % n;
    for (uint64_t round = 1; round <= rounds; round++) {
        for (int i = (int)threadIdx.x; i < SMALL; i += (int)blockDim.x)
            source[i] = round * 7 + (uint64_t)i;
        __syncthreads(); /* each thread copies words of other threads */
        shmemx_putmem_nbi_block(b->data, source, SMALL * 8, second);
        if (threadIdx.x == 0) {
            shmem_quiet();
            shmem_uint64_p(&b->hop[0], round, next);
            shmem_uint64_wait_until(&b->hop[0], SHMEM_CMP_GE, round);
            shmem_uint64_p(&b->hop[1], round, next);
            shmem_uint64_wait_until(&b->hop[1], SHMEM_CMP_GE, round);
        }
        __syncthreads();
        int wrong_words = look(b, source + BIG, SMALL, round, self);
        if (wrong_words != 0)
            tally(bad, (unsigned)wrong_words);
        __syncthreads();
        shmemx_sync_all_block();
    }
}

board *b;
uint64_t *source, *seen;
unsigned *bad;
uint64_t rounds;

void reset()
{
    static const board none = {};
    copy_memory(b, &none, sizeof *b);
    copy_memory(bad, &none, sizeof *bad);
    shmem_barrier_all();
}

unsigned count()
{
    unsigned n;
    shmem_barrier_all();
    copy_memory(&n, bad, sizeof n);
    return n;
}

template <int SCOPE> void try_pass(int way, uint64_t times)
{
    reset();
    LAUNCH(THREADS, pass<SCOPE>, way, b, source, times, next_pe, last_pe, bad);
    unsigned n = count();
    std::string what = std::string(names[way]) + ", " + scopes[SCOPE] + ": ";
    if (way == by_late_data)
        expect(n > 0, what + "data after its flag is not noticed");
    else
        expect(n == 0, what + std::to_string(n) + " words of old data");
}

void try_cross(int at_x, int at_y)
{
    std::vector<uint64_t> mine(rounds), theirs(rounds);
    uint64_t missed = 0;
    reset();
    LAUNCH(1, cross, b, rounds, me, 1 - me, me == 0 ? at_x : at_y, me == 0 ? at_y : at_x, seen);
    shmem_barrier_all();
    copy_memory(mine.data(), seen, rounds * 8);
    shmem_getmem(theirs.data(), seen, rounds * 8, 1 - me);
    for (uint64_t i = 0; i < rounds; i++)
        missed += mine[i] <= i && theirs[i] <= i;
    expect(missed == 0, "x at PE " + std::to_string(at_x) + ", y at PE " + std::to_string(at_y) +
                            ": both PEs missed the other's write in " + std::to_string(missed) +
                            " rounds");
    shmem_barrier_all();
}

#ifndef EMULATED
void try_race()
{
    std::vector<uint64_t> a(2 * rounds), c(2 * rounds);
    uint64_t against = 0, moved = 0;
    reset();
    race<<<2, 32>>>(b, rounds, me, seen);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    shmem_barrier_all();
    copy_memory(a.data(), seen, 16 * rounds);
    shmem_getmem(c.data(), seen, 16 * rounds, 1 - me);
    /* Both readers see the words grow, so the first that disagrees is enough. */
    for (uint64_t i = 0, k = 0; i < rounds; i++) {
        while (k < rounds && c[2 * k] <= a[2 * i + 1])
            k++;
        against += k < rounds && c[2 * k + 1] < a[2 * i];
        moved += i > 0 && a[2 * i + 1] != a[2 * i - 1];
    }
    expect(against == 0, "readers disagree about the order in " + std::to_string(against) + " of " +
                             std::to_string(rounds) + " polls");
    printf("litmus: PE %d: the other's word had changed in %llu of %llu polls\n", me,
           (unsigned long long)moved, (unsigned long long)rounds);
    shmem_barrier_all();
}
#endif

void try_relay()
{
    reset();
    LAUNCH(THREADS, relay, b, source, rounds, me, pes, bad);
    unsigned n = count();
    expect(n == 0, "told by a third PE: " + std::to_string(n) + " words of old data");
}

void run(bool mutant)
{
    b = (board *)shmem_calloc(1, sizeof(board));
    seen = (uint64_t *)shmem_malloc(16 * rounds);
    source = (uint64_t *)(void *)own_memory(2 * BIG * 8);
    bad = (unsigned *)(void *)own_memory(sizeof *bad);
    if (mutant) {
        try_pass<block>(by_late_data, rounds);
        return;
    }
    for (int way = 0; way < by_late_data; way++) {
        try_pass<thread>(way, rounds);
        try_pass<warp>(way, rounds);
        try_pass<block>(way, rounds);
    }
    try_relay();
    if (pes != 2)
        return; /* the others are between two */
    for (int at = 0; at < 4; at++)
        try_cross(at & 1, at >> 1);
#ifndef EMULATED /* whose kernels are of one block */
    try_race();
#endif
}

} // namespace kernels

int main(int argc, char **argv)
{
    begin("litmus");
    kernels::rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : kernels::ROUNDS;
    kernels::run(argc > 2);
    return end();
}
