/*
 * host: the protocol of dispatch.cu by threads of the host: tokens go to the PEs of their experts
 * on contexts, an addition on the same context gives the number of messages, and results come back
 * the same way. Every word of every message is checked when the addition has announced it.
 *
 *   deepep [MESSAGES [EXPERTS [unordered]]]
 *   shmemrun -n 2 --chaos 1 deepep 100000 64
 *   shmemrun -n 2 --chaos 1 deepep 100000 64 unordered    fails: nothing orders the addition
 *
 * A context is used as a queue: any thread puts on it, and the thread with the last put adds the
 * number of messages. A fence of the context before the addition orders it behind all the puts,
 * also those of other threads, and does not wait for them.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TOKENS = 256, TOP = 2, WORDS = 1792, MAX_EXPERTS = 256 };

static int me, n, experts = 64, ordered = 1;
static int local;          /* experts of each PE: expert e is number e % local of PE e / local */
static int capacity;       /* messages that one PE may have for one expert in a round */
static uint32_t number;    /* of the round; 0 ends the threads */
static shmem_ctx_t *queue; /* [local], by the number of the expert on its PE */
/* Symmetric, in slots of WORDS words: tokens by number, received messages and their results by
 * [local][PE][capacity], received results by [token][TOP]. */
static uint32_t *out, *in, *made, *back;
/* arrived: [local][PE], -1 - the number of messages, so that 0 means that it is not announced yet.
 * ready: [expert], 1 when its results have arrived. */
static int *arrived, *ready;
/* By [token][TOP]: the experts, and the slots there. By expert: the messages of this PE. */
static int expert[TOKENS * TOP], place[TOKENS * TOP], count[MAX_EXPERTS];
static atomic_int sent[MAX_EXPERTS]; /* messages put so far in this round */
static atomic_long seen, broken;     /* messages and results read, and those with wrong words */
static long expected;                /* what seen must be in the end */
static pthread_barrier_t all;        /* of the threads and main, before and after each round */

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca6bu;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    return h ^ h >> 12;
}

/* Expert k of a token. The TOP experts differ: the step from one to the next is odd, and the number
 * of experts is a power of 2. */
static int expert_of(int pe, int token, int k)
{
    uint32_t h = mix(number * 1000003u + (uint32_t)token, (uint32_t)pe);
    return (int)((h + (uint32_t)k * (h >> 9 | 1)) % (uint32_t)experts);
}

/* The words of a token's message: some messages fit into one packet of a network, most do not. */
static int words_of(int pe, int token)
{
    static const int words[] = {16, 256, 1104, WORDS, WORDS, WORDS, WORDS, WORDS};
    return words[mix(number + 7u * (uint32_t)token, (uint32_t)pe) % 8];
}

static uint32_t word(int pe, int token, int i)
{
    uint32_t of = number * 0x10001u + (uint32_t)(pe << 20 | token);
    return i == 0 ? (uint32_t)token : mix(of, (uint32_t)i);
}

/* Adds value to a counter of pe, behind all earlier puts on the context. */
static void tell(shmem_ctx_t on, int *counter, int value, int pe)
{
    if (ordered)
        shmem_ctx_fence(on);
    shmem_ctx_int_atomic_add(on, counter, value, pe);
}

/* Announces to the PE of expert e how many messages this PE has put for it. */
static void tell_count(int e)
{
    tell(queue[e % local], arrived + (e % local) * n + me, -1 - count[e], e / local);
}

/* This thread's part of the round's puts. An expert without messages is told so at once; the thread
 * with the last put for an expert announces the number. */
static void dispatch(int thread)
{
    for (int e = thread; e < experts; e += THREADS)
        if (count[e] == 0)
            tell_count(e);
    for (int i = thread; i < TOKENS * TOP; i += THREADS) {
        int e = expert[i], index = e % local, token = i / TOP;
        size_t slot = (size_t)(index * n + me) * (size_t)capacity + (size_t)place[i];
        shmem_ctx_putmem_nbi(queue[index], in + slot * WORDS, out + (size_t)token * WORDS,
                             4 * (size_t)words_of(me, token), e / local);
        if (atomic_fetch_add(&sent[e], 1) + 1 == count[e])
            tell_count(e);
    }
}

/* As expert number index of this PE: waits for the messages of pe, checks them, and puts the
 * results back. */
static void work(int index, int pe)
{
    int pair = index * n + pe, e = me * local + index;
    shmem_int_wait_until(arrived + pair, SHMEM_CMP_NE, 0);
    int messages = -1 - arrived[pair];
    for (int slot = 0; slot < messages && slot < capacity; slot++) {
        size_t at = ((size_t)pair * (size_t)capacity + (size_t)slot) * WORDS;
        int token = (int)in[at], wrong = token < 0 || token >= TOKENS, k = 0;
        atomic_fetch_add(&seen, 1);
        while (!wrong && expert_of(pe, token, k) != e)
            wrong = ++k == TOP;
        for (int i = 0; !wrong && i < words_of(pe, token); i++) {
            wrong = in[at + (size_t)i] != word(pe, token, i);
            made[at + (size_t)i] = in[at + (size_t)i] * 3 + (uint32_t)e;
        }
        if (wrong) {
            atomic_fetch_add(&broken, 1);
            continue;
        }
        shmem_ctx_putmem_nbi(queue[index], back + (size_t)(token * TOP + k) * WORDS, made + at,
                             4 * (size_t)words_of(pe, token), pe);
    }
    tell(queue[index], ready + e, 1, pe);
}

/* Waits for the results of this thread's part of the messages, and checks them. */
static void combine(int thread)
{
    for (int i = thread; i < TOKENS * TOP; i += THREADS) {
        int e = expert[i], token = i / TOP, wrong = 0;
        shmem_int_wait_until(ready + e, SHMEM_CMP_NE, 0);
        for (int j = 0; j < words_of(me, token); j++)
            wrong |= back[(size_t)i * WORDS + (size_t)j] != word(me, token, j) * 3 + (uint32_t)e;
        atomic_fetch_add(&seen, 1);
        atomic_fetch_add(&broken, wrong);
    }
}

static void *thread(void *argument)
{
    int t = (int)(intptr_t)argument;
    for (;;) {
        pthread_barrier_wait(&all); /* a round begins */
        if (number == 0)
            return NULL;
        dispatch(t);
        for (int pair = t; pair < local * n; pair += THREADS)
            work(pair / n, pair % n);
        combine(t);
        pthread_barrier_wait(&all);
    }
}

/*
 * Prepares a round: chooses the experts of this PE's tokens, makes their contents, and adds to
 * expected the messages and results that this PE receives.
 */
static void route(void)
{
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < TOKENS * TOP; i++)
            expected += expert_of(pe, i / TOP, i % TOP) / local == me;
    expected += TOKENS * TOP;
    memset(count, 0, sizeof count);
    for (int e = 0; e < experts; e++)
        atomic_store(&sent[e], 0);
    for (int t = 0; t < TOKENS; t++) {
        for (int k = 0; k < TOP; k++) {
            int e = expert[t * TOP + k] = expert_of(me, t, k);
            if ((place[t * TOP + k] = count[e]++) >= capacity) {
                fprintf(stderr, "host: expert %d gets more tokens than there is room for\n", e);
                shmem_global_exit(2);
            }
        }
        for (int i = 0; i < words_of(me, t); i++)
            out[(size_t)t * WORDS + (size_t)i] = word(me, t, i);
    }
    memset(arrived, 0, (size_t)(local * n) * sizeof *arrived);
    memset(ready, 0, (size_t)experts * sizeof *ready);
}

static void *symmetric(size_t n_words)
{
    void *at = shmem_align(128, 4 * n_words);
    if (at == NULL) {
        fprintf(stderr,
                "host: allocate %zu bytes: the symmetric heap is full (set "
                "SHMEM_SYMMETRIC_SIZE, for example to 1g)\n",
                4 * n_words);
        shmem_global_exit(2);
    }
    return at;
}

int main(int argc, char **argv)
{
    long messages = argc > 1 ? atol(argv[1]) : 20000;
    int provided;
    if (argc > 2)
        experts = atoi(argv[2]);
    if (argc > 3)
        ordered = strcmp(argv[3], "unordered") != 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), n = shmem_n_pes();
    if (experts < 1 || experts > MAX_EXPERTS || (experts & (experts - 1)) != 0 ||
        experts % n != 0 || messages < 1 || provided != SHMEM_THREAD_MULTIPLE) {
        fprintf(stderr,
                "host: %ld messages to %d experts on %d PEs: experts are a power of 2, up to %d, "
                "and the PEs have as many each\n",
                messages, experts, n, MAX_EXPERTS);
        shmem_global_exit(2);
    }
    local = experts / n, capacity = 2 * TOKENS * TOP / experts + 64;
    size_t slots = (size_t)(local * n * capacity) * WORDS;
    out = symmetric((size_t)TOKENS * WORDS), back = symmetric((size_t)(TOKENS * TOP) * WORDS);
    in = symmetric(slots), made = symmetric(slots);
    arrived = symmetric((size_t)(local * n)), ready = symmetric((size_t)experts);
    queue = malloc((size_t)local * sizeof *queue);
    if (queue == NULL) {
        fprintf(stderr, "host: allocate a list of %d contexts: out of memory\n", local);
        shmem_global_exit(2);
    }
    for (int q = 0; q < local; q++)
        if (shmem_ctx_create(0, &queue[q]) != 0)
            shmem_global_exit(2);
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS + 1);
    for (intptr_t t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, thread, (void *)t);

    /* In a round all PEs together send n * TOKENS * TOP messages, and as many results. */
    long rounds = (messages - 1) / (2L * n * TOKENS * TOP) + 1;
    for (long r = 1; r <= rounds; r++) {
        number = (uint32_t)r;
        route();
        shmem_barrier_all();
        pthread_barrier_wait(&all);
        pthread_barrier_wait(&all);
        for (int q = 0; q < local; q++)
            shmem_ctx_quiet(queue[q]);
        shmem_barrier_all();
    }
    number = 0;
    pthread_barrier_wait(&all);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int q = 0; q < local; q++)
        shmem_ctx_destroy(queue[q]);
    int good = broken == 0 && seen == expected;
    printf("PE %d of %d: %ld of %ld messages, %d experts, %ld had not come when the count said so: "
           "%s\n",
           me, n, (long)seen, expected, experts, (long)broken, good ? "passed" : "failed");
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
