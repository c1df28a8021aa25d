/*
 * ordering.c: the guarantees of fence, quiet, signals and atomics, as litmus tests.
 *
 * Each litmus runs many times, in batches whose instances have words of their own and overlap; each
 * PE runs it with the PE on its right. One instance in sixteen moves a block that takes another
 * route than the words that announce it, and so may be overtaken.
 *
 * usage: ordering [rounds [litmus]]
 *
 * With the name of a litmus only that one runs, without the call that orders it: a mutant, which
 * must end with a line with the number of times that order was lost. A litmus whose mutant passes
 * proves nothing.
 */
#include "check.h"

#include <stdatomic.h>

enum { BATCH = 512, SLOW = 16, BLOCK = 1024, BLOCKS = BATCH / SLOW };

static int right;
static bool mutant;
static uint64_t rounds;
static uint64_t lost; /* instances that came out of order, here */

/* Symmetric: words and blocks that others write, and two more words for each instance. */
static uint64_t *data, *flag, *last, *block;
static uint64_t *from; /* a private block for each instance that has one */

static bool has_block(size_t i)
{
    return i % SLOW == 0;
}

static uint64_t *block_of(size_t i)
{
    return block + i / SLOW * BLOCK;
}

static void seen(uint64_t batch, size_t i, bool ordered, const char *what)
{
    if (ordered)
        return;
    lost++;
    if (!mutant)
        check_fail("batch %llu, instance %zu: %s", (unsigned long long)batch, i, what);
}

static void order(void)
{
    if (!mutant)
        shmem_fence();
}

static void complete(void)
{
    if (!mutant)
        shmem_quiet();
}

/* Writes the data of instance i, without waiting for it. */
static void write_data(size_t i, uint64_t value, int pe)
{
    if (!has_block(i)) {
        shmem_uint64_p(data + i, value, pe);
        return;
    }
    uint64_t *source = from + i / SLOW * BLOCK;
    for (size_t w = 0; w < BLOCK; w++)
        source[w] = value;
    shmem_uint64_put_nbi(block_of(i), source, BLOCK, pe);
}

static bool data_is(size_t i, uint64_t value)
{
    if (!has_block(i))
        return *(volatile uint64_t *)(data + i) == value;
    const volatile uint64_t *at = block_of(i);
    return at[0] == value && at[BLOCK / 2] == value && at[BLOCK - 1] == value;
}

/* Waits for the flags in turn, and checks at once the data that each announces. */
static void read_data(uint64_t batch, const char *what)
{
    for (size_t i = 0; i < BATCH; i++) {
        shmem_uint64_wait_until(flag + i, SHMEM_CMP_EQ, batch);
        seen(batch, i, data_is(i, batch), what);
    }
}

/* ------------------------------------------------------------------- litmus */

static void put_fence_p(uint64_t batch)
{
    for (size_t i = 0; i < BATCH; i++) {
        write_data(i, batch, right);
        order();
        shmem_uint64_p(flag + i, batch, right);
    }
    read_data(batch, "the flag came before the data");
}

static void put_fence_add(uint64_t batch)
{
    for (size_t i = 0; i < BATCH; i++) {
        write_data(i, batch, right);
        order();
        shmem_uint64_atomic_inc(flag + i, right);
    }
    read_data(batch, "the atomic operation came before the data");
}

static void put_fence_signal(uint64_t batch)
{
    for (size_t i = 0; i < BATCH; i++) {
        write_data(i, batch, right);
        order();
        shmem_uint64_put_signal(last + i, &batch, 1, flag + i, 1, SHMEM_SIGNAL_ADD, right);
    }
    read_data(batch, "the signal came before data of an earlier put");
}

/* The signal of a put needs no fence; the mutant signals by itself. */
static void put_signal(uint64_t batch)
{
    for (size_t i = 0; i < BATCH; i++) {
        if (mutant) {
            write_data(i, batch, right);
            shmem_signal_set(flag + i, batch, right);
        } else if (has_block(i)) {
            uint64_t *source = from + i / SLOW * BLOCK;
            for (size_t w = 0; w < BLOCK; w++)
                source[w] = batch;
            shmem_uint64_put_signal_nbi(block_of(i), source, BLOCK, flag + i, batch,
                                        SHMEM_SIGNAL_SET, right);
        } else {
            shmem_uint64_put_signal(data + i, &batch, 1, flag + i, batch, SHMEM_SIGNAL_SET, right);
        }
    }
    read_data(batch, "the signal came before its data");
}

/* Two puts to one place: the second remains. */
static void put_fence_put(uint64_t batch)
{
    static uint64_t first[BLOCK];
    for (size_t w = 0; w < BLOCK; w++)
        first[w] = ~batch;
    for (size_t i = 0; i < BATCH; i++) {
        if (has_block(i))
            shmem_uint64_put_nbi(block_of(i), first, BLOCK, right);
        else
            shmem_uint64_p(data + i, ~batch, right);
        order();
        write_data(i, batch, right);
    }
    shmem_barrier_all();
    for (size_t i = 0; i < BATCH; i++)
        seen(batch, i, data_is(i, batch), "the first put came after the second");
}

/* A get after quiet returns the data of the put. */
static void put_quiet_get(uint64_t batch)
{
    static uint64_t got[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        write_data(i, batch, right);
    complete();
    for (size_t i = 0; i < BATCH; i++)
        shmem_uint64_get_nbi(got + i, has_block(i) ? block_of(i) + BLOCK - 1 : data + i, 1, right);
    shmem_quiet();
    for (size_t i = 0; i < BATCH; i++)
        seen(batch, i, got[i] == batch, "a get did not see an earlier put");
}

/* Store buffering: each PE writes to the right and then reads the word that its left neighbour
 * writes here. In a ring of PEs, at least one sees the other's write. By loads and stores the
 * instances run one by one, so that the PEs meet in some; over a network, where each quiet is a
 * round trip, all at once. */
static void store_buffering(uint64_t batch)
{
    static bool answers[BATCH];
    uint64_t *all = flag; /* at PE 0: how many saw the write to them */
    size_t group = shmem_ptr(data, right) != NULL ? 1 : BATCH;
    for (size_t i = 0; i < BATCH; i += group) {
        for (size_t k = i; k < i + group; k++)
            write_data(k, batch, right);
        complete();
        for (size_t k = i; k < i + group; k++)
            answers[k] = data_is(k, batch);
    }
    if (check.me == 0)
        memset(all, 0, BATCH * sizeof *all);
    shmem_barrier_all();
    for (size_t i = 0; i < BATCH; i++)
        if (answers[i])
            shmem_uint64_atomic_inc(all + i, 0);
    shmem_barrier_all();
    for (size_t i = 0; check.me == 0 && i < BATCH; i++)
        seen(batch, i, all[i] > 0, "no PE saw the write of the one before it");
}

/* Data that a PE has completed is visible to a PE that is informed of it by a third one: each PE
 * writes to the one after the next, and informs the next, which informs that one. */
static void passed_on(uint64_t batch)
{
    int after = (right + 1) % check.n;
    for (size_t i = 0; i < BATCH; i++)
        write_data(i, batch, after);
    complete();
    for (size_t i = 0; i < BATCH; i++)
        shmem_uint64_p(last + i, batch, right);
    for (size_t i = 0; i < BATCH; i++) {
        shmem_uint64_wait_until(last + i, SHMEM_CMP_EQ, batch);
        shmem_uint64_p(flag + i, batch, right);
    }
    read_data(batch, "a PE that heard of the data did not find it");
}

/* All PEs add to words of each PE, by four kinds of atomic operations and, each to its own, by
 * C's. The mutant reads and writes. */
static void atomicity(uint64_t batch)
{
    (void)batch;
    enum { OBJECTS = 8 };
    static uint64_t unused;
    memset(flag, 0, OBJECTS * sizeof *flag);
    memset(last, 0, OBJECTS * sizeof *last);
    shmem_barrier_all();
    for (size_t i = 0; i < BATCH; i++) {
        size_t k = i % OBJECTS;
        int pe = (int)((i / OBJECTS + (size_t)check.me) % (size_t)check.n);
        uint64_t *wide = flag + k;
        uint32_t *narrow = (uint32_t *)(last + k);
        if (mutant) {
            shmem_uint64_p(wide, shmem_uint64_g(wide, pe) + 1, pe);
            shmem_quiet();
            continue;
        }
        if (pe == check.me && i % 2 == 0)
            atomic_fetch_add((_Atomic uint64_t *)wide, 1);
        else if (i % 3 == 0)
            shmem_uint64_atomic_fetch_inc_nbi(&unused, wide, pe);
        else if (i % 64 != 7)
            shmem_uint64_atomic_add(wide, 1, pe);
        else
            for (uint64_t was = 0, now;
                 (now = shmem_uint64_atomic_compare_swap(wide, was, was + 1, pe)) != was;)
                was = now;
        if (pe == check.me && i % 2 == 1)
            atomic_fetch_add((_Atomic uint32_t *)narrow, 1);
        else
            shmem_uint32_atomic_add(narrow, 1, pe);
    }
    shmem_barrier_all();
    for (size_t k = 0; k < OBJECTS; k++) {
        uint64_t want = 0;
        for (int pe = 0; pe < check.n; pe++)
            for (size_t i = k; i < BATCH; i += OBJECTS)
                want += (int)((i / OBJECTS + (size_t)pe) % (size_t)check.n) == check.me;
        seen(batch, k, flag[k] == want, "additions to 64 bits were lost");
        seen(batch, k, mutant || *(uint32_t *)(last + k) == want, "additions to 32 bits were lost");
    }
}

/* A lock of compare_swap, taken a few times for each batch of the others: its holder reads and
 * writes a block, in pieces that take different routes. */
static void exclusion(uint64_t batch)
{
    enum { TURNS = 4 };
    static uint64_t mine[BLOCK];
    (void)batch;
    if (check.me == 0)
        memset(block, 0, BLOCK * sizeof *block), *flag = 0;
    shmem_barrier_all();
    for (int turn = 0; turn < TURNS; turn++) {
        while (!mutant && shmem_uint64_atomic_compare_swap(flag, 0, 1, 0) != 0)
            ;
        shmem_uint64_get(mine, block, BLOCK, 0);
        for (size_t w = 0; w < BLOCK; w++)
            mine[w]++;
        shmem_uint64_put_nbi(block, mine, BLOCK - 1, 0);
        shmem_uint64_p(block + BLOCK - 1, mine[BLOCK - 1], 0);
        shmem_quiet();
        if (!mutant)
            shmem_uint64_atomic_set(flag, 0, 0);
    }
    shmem_barrier_all();
    for (size_t w = 0; check.me == 0 && w < BLOCK; w += BLOCK - 1)
        seen(batch, w, block[w] == (uint64_t)(TURNS * check.n), "a turn under the lock was lost");
}

static const struct litmus {
    const char *name;
    void (*play)(uint64_t batch);
    size_t instances; /* in a batch */
} litmus[] = {
    {"put_fence_p", put_fence_p, BATCH},
    {"put_fence_add", put_fence_add, BATCH},
    {"put_fence_signal", put_fence_signal, BATCH},
    {"put_signal", put_signal, BATCH},
    {"put_fence_put", put_fence_put, BATCH},
    {"put_quiet_get", put_quiet_get, BATCH},
    {"store_buffering", store_buffering, BATCH},
    {"passed_on", passed_on, BATCH},
    {"atomicity", atomicity, BATCH},
    {"exclusion", exclusion, BATCH},
};
enum { ALL = sizeof litmus / sizeof litmus[0] };

static void play(const struct litmus *l)
{
    memset(data, 0, BATCH * sizeof *data);
    memset(flag, 0, BATCH * sizeof *flag);
    memset(last, 0, BATCH * sizeof *last);
    memset(block, 0, BLOCKS * BLOCK * sizeof *block);
    shmem_barrier_all();
    for (uint64_t batch = 1; (batch - 1) * l->instances < rounds; batch++) {
        l->play(batch);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    mutant = argc > 2;
    check_open("ordering", ALL);
    right = (check.me + 1) % check.n;
    data = check_alloc(BATCH * sizeof *data);
    flag = check_alloc(BATCH * sizeof *flag);
    last = check_alloc(BATCH * sizeof *last);
    block = check_alloc(BLOCKS * BLOCK * sizeof *block);
    from = calloc(BLOCKS * BLOCK, sizeof *from);
    if (from == NULL)
        abort();
    for (size_t i = 0; i < ALL; i++) {
        if (mutant && strcmp(argv[2], litmus[i].name) != 0)
            continue;
        check_start(i, litmus[i].name);
        play(&litmus[i]);
        if (mutant) {
            printf("%s: PE %d: order was lost %llu times\n", litmus[i].name, check.me,
                   (unsigned long long)lost);
            CHECK(lost == 0, "order was lost");
        }
    }
    free(from);
    return check_close();
}
