/*
 * rings.c: threads of each PE pass operations to the proxy through rings, as kernels do. If all PEs
 * share memory there is no network and no ring is used.
 */
#include "check.h"

#include <shmem/map.h>
#include <shmem/state.h>

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 3000, WINDOW = 64, BLOCK = 6000, WORDS = 512, LARGE = 3 << 20 };
enum { FRESH, ELEMENTS, ATOMICS, FETCH, SIGNAL, FENCE, GET, SPLIT, TESTS };

/* One of these for each thread, on every PE: written by the left neighbour. */
struct area {
    uint64_t fresh[ROUNDS];
    uint64_t words[WORDS];
    uint64_t flag, signal;
    unsigned char block[BLOCK];
    uint64_t large[LARGE / 8];
};

static const struct shmemi_device_state *state;
static const struct shmemi_ring *rings;
static struct area *areas;
static uint64_t *counter, *tickets;
static unsigned char seen[THREADS * 1000];
static int bad[TESTS][THREADS];
static pthread_barrier_t together;

static uint64_t place(const void *symmetric)
{
    return (uint64_t)(uintptr_t)symmetric - state->segment;
}

static void push(uint32_t ring, struct shmemi_words words, int slots)
{
    shmemi_push(&rings[ring], &words, slots);
}

static uint64_t ask(uint32_t ring, struct shmemi_words (*pack)(uint32_t reply, void *arg),
                    void *arg, int slots)
{
    const struct shmemi_ring *r = &rings[ring];
    uint32_t reply = shmemi_reply_claim(r, ring);
    uint32_t turn = shmemi_reply_turn(r, reply);
    struct shmemi_words words = pack(reply, arg);
    uint64_t value = 0;
    shmemi_before_slots();
    shmemi_push(r, &words, slots);
    if (shmemi_reply_wait(r, reply, turn, &value) != 0)
        check_fail("an answer says that the operation failed");
    return value;
}

static int right;

static struct shmemi_words fetch_add(uint32_t reply, void *arg)
{
    return shmemi_pack_amo_wide((uint32_t)right, 0, place(arg), 9, 3, 1, 0, 1, reply);
}

struct get {
    const void *from;
    void *to;
    size_t n;
};

static struct shmemi_words get(uint32_t reply, void *arg)
{
    const struct get *g = arg;
    return shmemi_pack_get((uint32_t)right, 0, place(g->from), (uintptr_t)g->to, g->n, 1, reply);
}

static void quiet(uint32_t ring)
{
    if (shmemi_ring_quiet(rings, state->ring_count, ring, 0) != 0)
        check_fail("the ring was stopped");
}

/* Other threads must finish before their results are checked. */
static void meet(void)
{
    if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
        shmem_barrier_all();
    pthread_barrier_wait(&together);
}

static void *work(void *arg)
{
    uint32_t id = (uint32_t)(uintptr_t)arg, pe = (uint32_t)right,
             ring = shmemi_ring_index(state, pe);
    uint32_t left = (uint32_t)(check.me + check.n - 1) % (uint32_t)check.n;
    struct area *mine = &areas[id];

    /* A source is pushed as soon as it is written. */
    uint64_t source[WINDOW];
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (i % WINDOW == 0)
            quiet(ring);
        source[i % WINDOW] = check_mix((uint64_t)check.me << 40 | (uint64_t)id << 32 | i);
        shmemi_before_slots();
        push(
            ring,
            shmemi_pack_put(pe, 0, place(&mine->fresh[i]), (uintptr_t)&source[i % WINDOW], 8, 0, 0),
            SHMEMI_SLOTS_PUT);
    }
    quiet(ring);
    meet();
    for (uint64_t i = 0; i < ROUNDS; i++)
        bad[FRESH][id] +=
            mine->fresh[i] != check_mix((uint64_t)left << 40 | (uint64_t)id << 32 | i);

    /* A burst of elements, which travel in the slots. */
    struct shmemi_burst b = shmemi_burst_begin(&rings[ring], WORDS / 4, SHMEMI_SLOTS_P_WIDE);
    for (uint32_t i = 0; i < WORDS / 4; i++) {
        struct shmemi_words w =
            shmemi_pack_p_wide(pe, 0, place(&mine->words[i]), UINT64_MAX - i - (uint64_t)check.me);
        shmemi_burst_store(&b, i, &w, SHMEMI_SLOTS_P_WIDE);
    }
    shmemi_burst_end(&b);
    quiet(ring);
    meet();
    for (uint32_t i = 0; i < WORDS / 4; i++)
        bad[ELEMENTS][id] += mine->words[i] != UINT64_MAX - i - left;

    /* Every thread adds to one word of PE 0. */
    for (int i = 0; i < 1000; i++)
        push(ring, shmemi_pack_amo(0, 0, place(counter), 2, 3, i % 2 ? (uint32_t)-3 : 7),
             SHMEMI_SLOTS_AMO);
    quiet(ring);
    meet();
    if (check.me == 0)
        bad[ATOMICS][id] += *counter != (uint64_t)check.n * THREADS * 500 * 4;

    /* Each ticket is drawn once. */
    for (int i = 0; i < 200; i++) {
        uint64_t t = ask(ring, fetch_add, tickets, SHMEMI_SLOTS_AMO_WIDE);
        if (t >= THREADS * 200 || __atomic_exchange_n(&seen[t], 1, __ATOMIC_RELAXED))
            bad[FETCH][id]++;
    }

    /* Data and its signal; then data, a fence, and a flag. */
    unsigned char *block = malloc(BLOCK);
    for (uint64_t i = 1; i <= 60; i++) {
        memset(block, (int)(i + id), BLOCK);
        shmemi_before_slots();
        push(ring,
             shmemi_pack_put_signal(pe, 0, place(mine->block), (uintptr_t)block, BLOCK, 0, 0, 1, i,
                                    place(&mine->signal)),
             SHMEMI_SLOTS_PUT_SIGNAL);
        shmem_signal_wait_until(&mine->signal, SHMEM_CMP_EQ, i);
        for (int k = 0; k < BLOCK; k += 97)
            bad[SIGNAL][id] += mine->block[k] != (unsigned char)(i + id);
        meet();
        quiet(ring);
        memset(block, (int)(i + id + 100), BLOCK);
        shmemi_before_slots();
        push(ring, shmemi_pack_put(pe, 0, place(mine->block), (uintptr_t)block, BLOCK, 0, 0),
             SHMEMI_SLOTS_PUT);
        if (shmemi_ring_fence(rings, state->ring_count, ring, 0) != 0)
            bad[FENCE][id]++;
        push(ring, shmemi_pack_p(pe, 0, place(&mine->flag), 3, (uint32_t)i), SHMEMI_SLOTS_P);
        shmem_uint64_wait_until(&mine->flag, SHMEM_CMP_EQ, i);
        for (int k = 0; k < BLOCK; k += 97)
            bad[FENCE][id] += mine->block[k] != (unsigned char)(i + id + 100);
        meet();
        quiet(ring);
    }

    /* A blocking get, into memory outside the heap. */
    memset(block, 0, BLOCK);
    struct get g = {mine->block, block, BLOCK};
    ask(ring, get, &g, SHMEMI_SLOTS_GET);
    for (int k = 0; k < BLOCK; k++)
        bad[GET][id] += block[k] != (unsigned char)(60 + id + 100);

    /* More than a message, from memory that was never registered. */
    uint64_t *large = malloc(LARGE);
    for (uint64_t i = 0; i < LARGE / 8; i++)
        large[i] = check_mix(i + ((uint64_t)check.me << 32));
    shmemi_before_slots();
    push(ring,
         shmemi_pack_put_signal(pe, 0, place(mine->large), (uintptr_t)large, LARGE, 0, 0, 2, 1000,
                                place(&mine->signal)),
         SHMEMI_SLOTS_PUT_SIGNAL);
    shmem_signal_wait_until(&mine->signal, SHMEM_CMP_EQ, 1060);
    for (uint64_t i = 0; i < LARGE / 8; i++)
        bad[SPLIT][id] += mine->large[i] != check_mix(i + ((uint64_t)left << 32));
    quiet(ring);
    free(large);
    free(block);
    return NULL;
}

int main(void)
{
    static const char *const names[TESTS] = {
        "freshly written sources", "elements in a burst", "atomics", "fetching atomics",
        "put with signal",         "fence between rings", "get",     "large put with signal",
    };
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    check_open("rings", TESTS);
    areas = check_alloc(THREADS * sizeof *areas);
    counter = check_alloc(2 * sizeof *counter);
    tickets = counter + 1;
    counter[0] = counter[1] = 0;
    memset(areas, 0, THREADS * sizeof *areas);
    shmem_barrier_all();
    state = shmemi_host_state();
    rings = state->rings;
    right = (check.me + 1) % check.n;
    check_start(0, "state");
    CHECK(state->me == check.me && state->n_pes == check.n, "the state is of PE %d of %d",
          state->me, state->n_pes);
    CHECK(shmemi_host_state() == state, "a second call gave another state");
    const struct shmemi_device_peer *peers = state->peers;
    for (int pe = 0; pe < check.n; pe++)
        CHECK((peers[pe].direct == NULL) == (shmem_ptr(areas, pe) == NULL) &&
                  (peers[pe].direct == NULL ||
                   (char *)peers[pe].direct + place(areas) == shmem_ptr(areas, pe)),
              "PE %d is mapped at %p", pe, peers[pe].direct);
    if (state->ring_count > 0) {
        pthread_t t[THREADS];
        pthread_barrier_init(&together, NULL, THREADS);
        for (uintptr_t i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
    }
    shmem_barrier_all();
    for (size_t i = 0; i < TESTS; i++) {
        check_start(i, names[i]);
        for (int k = 0; k < THREADS; k++)
            CHECK(bad[i][k] == 0, "thread %d: %d wrong", k, bad[i][k]);
    }
    int failed = check_close(); /* finalizes once; init was called twice */
    shmem_finalize();
    return failed;
}
