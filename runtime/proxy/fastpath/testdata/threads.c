/*
 * threads.c ROUNDS: two PEs in one process. On each PE two threads share the state of an endpoint.
 * The first one runs the inner loop on a ring that a third thread fills. The second one posts and
 * polls as capi/core does. The program has no Go in it, so ThreadSanitizer sees every access.
 *
 * In each round a thread puts a block with a signal and adds 1 to a counter. The target reads a
 * block without the lock after its signal has arrived.
 *
 * SEEDED_BUG is the number of one of these mistakes, which the sanitizer has to report:
 *   1  the caller does not take the lock
 *   2  the target loads a signal without acquire
 */
#include "../innerloop.c"
#include "../../../../tests/ring/testdata/memory_layout.h"

#include <pthread.h>

enum { PES = 2, WAYS = 2, WORDS = 3, MOST = 100000, RECEIVES = 64, MESSAGE = 256, QUEUE = 128 };
enum { BY_LANE, BY_CALLER };

static int seeded_bug;

/* The symmetric memory of a PE. */
struct heap {
    uint64_t counter;
    uint64_t signal[WAYS];
    uint64_t block[WAYS][MOST][WORDS];
    uint64_t source[WAYS][MOST][WORDS];
};

/* Messages on their way to a PE. */
struct queue {
    pthread_mutex_t mutex;
    uint32_t head, tail;
    struct {
        uint32_t size;
        char bytes[MESSAGE];
    } message[QUEUE];
};

static struct end {
    struct shmemi_fastpath x;
    struct shmemi_fastpath_peer peers[PES];
    struct shmemi_native native;
    struct shmemi_event records[(PES + 1) * SHMEMI_EVENTS];
    int32_t dirty[PES];
    uint32_t unposted[RECEIVES], posted[RECEIVES], given, used;
    struct shmemi_fastpath *contexts[SHMEMI_CONTEXTS_OPEN];
    char buffers[RECEIVES][MESSAGE] __attribute__((aligned(64)));
    char scratch[MESSAGE] __attribute__((aligned(64)));
    struct heap *heap;
    struct queue queue;
    struct shmemi_ring ring;
    uint32_t lock, sleepers, wakes;
} ends[PES];

static uint64_t rounds;
static int over; /* callers that have received everything */

static int inject(void *self, uint32_t pe, const void *buf, size_t n)
{
    struct queue *q = &ends[pe].queue;
    (void)self;
    pthread_mutex_lock(&q->mutex);
    if (q->tail - q->head == QUEUE)
        FAIL("credits let more than %d messages out", QUEUE);
    q->message[q->tail % QUEUE].size = (uint32_t)n;
    memcpy(q->message[q->tail++ % QUEUE].bytes, buf, n);
    pthread_mutex_unlock(&q->mutex);
    return 0;
}

static int receive(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    struct end *e = self;
    (void)buf, (void)n, (void)desc;
    e->posted[e->given++ % RECEIVES] = token;
    return 0;
}

static int poll(void *self, struct shmemi_completion *c, int max)
{
    struct end *e = self;
    struct queue *q = &e->queue;
    int n = 0;
    pthread_mutex_lock(&q->mutex);
    for (; n < max && q->head != q->tail && e->used != e->given; n++) {
        uint32_t size = q->message[q->head % QUEUE].size;
        c[n] = (struct shmemi_completion){
            .token = e->posted[e->used++ % RECEIVES], .kind = SHMEMI_COMPLETION_RECV, .len = size};
        memcpy(e->buffers[c[n].token], q->message[q->head++ % QUEUE].bytes, size);
    }
    pthread_mutex_unlock(&q->mutex);
    return n;
}

/* Like Engine.fillFastPath. */
static void begin(uint32_t me)
{
    struct end *e = &ends[me];
    e->heap = calloc(1, sizeof *e->heap);
    if (e->heap == NULL)
        FAIL("no memory");
    e->ring = ring_new(6, 0);
    pthread_mutex_init(&e->queue.mutex, NULL);
    e->native = (struct shmemi_native){.self = e, .poll = poll, .recv = receive, .inject = inject};
    e->x = (struct shmemi_fastpath){.peers = e->peers,
                                    .shown = e->peers,
                                    .dirty_list = e->dirty,
                                    .unposted_list = e->unposted,
                                    .buffers = e->buffers[0],
                                    .scratch = e->scratch,
                                    .segment = (char *)e->heap,
                                    .size = sizeof *e->heap,
                                    .reach = sizeof *e->heap,
                                    .contexts = e->contexts,
                                    .records = e->records,
                                    .job = 7,
                                    .me = me,
                                    .n_pes = PES,
                                    .max_inject = MESSAGE,
                                    .receives = RECEIVES,
                                    .tokens = RECEIVES,
                                    .max_message = MESSAGE,
                                    .window = 64,
                                    .flush_at = 32,
                                    .unit = 6};
    for (uint32_t i = 0; i < PES; i++) {
        e->peers[i].reachable = true;
        e->peers[i].ring = 1 + i;
    }
    for (uint32_t t = 0; t < RECEIVES; t++)
        receive(e, NULL, 0, 0, t);
}

static uint64_t word(uint32_t pe, int way, uint64_t round, int i)
{
    return (uint64_t)pe << 60 | (uint64_t)way << 56 | round << 8 | (uint64_t)i;
}

static void fill(uint32_t me, int way, uint64_t round)
{
    for (int i = 0; i < WORDS; i++)
        ends[me].heap->source[way][round][i] = word(me, way, round, i);
}

#define AT(member) ((uint64_t)offsetof(struct heap, member))
#define BLOCK(way, round) (AT(block) + ((uint64_t)(way)*MOST + (round)) * sizeof(uint64_t[WORDS]))
#define SIGNAL(way) (AT(signal) + (uint64_t)(way) * sizeof(uint64_t))

/* Fills the ring of the inner loop. */
static void *produce(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg;
    const struct shmemi_ring *r = &ends[me].ring;
    for (uint64_t n = 0; n < rounds; n++) {
        fill(me, BY_LANE, n);
        shmemi_before_slots();
        struct shmemi_words put = shmemi_pack_put_signal(
            !me, 0, BLOCK(BY_LANE, n), (uint64_t)(uintptr_t)ends[me].heap->source[BY_LANE][n],
            sizeof(uint64_t[WORDS]), 0, 0, SHMEMI_AMO_SET, n + 1, SIGNAL(BY_LANE));
        shmemi_push(r, &put, SHMEMI_SLOTS_PUT_SIGNAL);
        struct shmemi_words add = shmemi_pack_amo(!me, 0, AT(counter), SHMEMI_AMO_ADD, 3, 1);
        shmemi_push(r, &add, SHMEMI_SLOTS_AMO);
    }
    return NULL;
}

static void *run_inner_loop(void *arg)
{
    struct end *e = &ends[(uintptr_t)arg];
    uint64_t position = 0;
    struct shmemi_innerloop_ring ring = {
        .slots = e->ring.slots, .line = e->ring.line, .replies = e->ring.replies, .log2_slots = 6};
    struct shmemi_innerloop loop = {.engine = &e->x,
                                    .native = e->native,
                                    .lock = &e->lock,
                                    .sleepers = &e->sleepers,
                                    .wakes = &e->wakes,
                                    .rings = &ring,
                                    .positions = &position,
                                    .ring_count = 1,
                                    .serves_all = 1,
                                    .yields = 1,
                                    .batch = 16,
                                    .limit = 1000000};
    while (__atomic_load_n(&over, __ATOMIC_ACQUIRE) < PES) {
        switch (shmemi_innerloop_run(&loop)) {
        case SHMEMI_INNERLOOP_COMPLETION:
            FAIL("a completion was left to Go");
        case SHMEMI_INNERLOOP_STATE:
        case SHMEMI_INNERLOOP_ERROR:
            FAIL("the loop ended");
        case SHMEMI_INNERLOOP_OPERATION: /* no credit: let the caller poll for an answer */
            sched_yield();
        }
    }
    return NULL;
}

static void lock(struct end *e)
{
    while (seeded_bug != 1 && __atomic_exchange_n(&e->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

/* Posts the caller's next operation, if any, and polls. */
static void turn_of_caller(struct end *e, uint64_t *posted)
{
    struct shmemi_fastpath *x = &e->x;
    struct shmemi_completion c[4];
    uint64_t n = *posted / 2;
    int rc = SHMEMI_NOT_FAST;
    lock(e);
    if (n < rounds && *posted % 2 == 0)
        rc = shmemi_fastpath_post(
            x, &e->native,
            &(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                            .pe = !x->me,
                                            .offset = (int64_t)BLOCK(BY_CALLER, n),
                                            .source = e->heap->source[BY_CALLER][n],
                                            .nbytes = sizeof(uint64_t[WORDS]),
                                            .signal_offset = (int64_t)SIGNAL(BY_CALLER),
                                            .operand = n + 1,
                                            .op = SHMEMI_AMO_SET});
    else if (n < rounds)
        rc = shmemi_fastpath_post(x, &e->native,
                                  &(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_AMO,
                                                                  .pe = !x->me,
                                                                  .offset = (int64_t)AT(counter),
                                                                  .op = SHMEMI_AMO_ADD,
                                                                  .width = 8,
                                                                  .operand = 1});
    *posted += rc == SHMEMI_DONE;
    int came = poll(e, c, 4);
    for (int i = 0; i < came; i++)
        if (shmemi_fastpath_receive(x, &e->native, &c[i]) != SHMEMI_DONE)
            FAIL("a message of %d bytes was left to Go", (int)c[i].len);
    __atomic_store_n(&e->lock, 0, __ATOMIC_RELEASE);
}

/* Checks the blocks whose signals have arrived since the last check. */
static void check(struct end *e, int way, uint64_t *seen)
{
    const uint64_t *at = &e->heap->signal[way];
    uint64_t signal = seeded_bug == 2 ? __atomic_load_n(at, __ATOMIC_RELAXED)
                                      : __atomic_load_n(at, __ATOMIC_ACQUIRE);
    for (; *seen < signal; ++*seen)
        for (int i = 0; i < WORDS; i++)
            if (e->heap->block[way][*seen][i] != word(!e->x.me, way, *seen, i))
                FAIL("word %d of block %d is %llx", i, (int)*seen,
                     (unsigned long long)e->heap->block[way][*seen][i]);
}

static void *call(void *arg)
{
    struct end *e = &ends[(uintptr_t)arg];
    uint64_t posted = 0, seen[WAYS] = {0}, last = rounds;
    while (posted < 2 * rounds ||
           __atomic_load_n(&e->heap->counter, __ATOMIC_ACQUIRE) < WAYS * rounds) {
        if (posted / 2 < rounds && posted / 2 != last)
            fill(e->x.me, BY_CALLER, last = posted / 2);
        turn_of_caller(e, &posted);
        check(e, BY_LANE, &seen[BY_LANE]);
        check(e, BY_CALLER, &seen[BY_CALLER]);
    }
    check(e, BY_LANE, &seen[BY_LANE]);
    check(e, BY_CALLER, &seen[BY_CALLER]);
    if (seen[BY_LANE] != rounds || seen[BY_CALLER] != rounds)
        FAIL("%d and %d blocks came of %d", (int)seen[0], (int)seen[1], (int)rounds);
    __atomic_fetch_add(&over, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&over, __ATOMIC_ACQUIRE) < PES) {
        turn_of_caller(e, &posted); /* the other PE may wait for an answer */
        sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3 * PES];
    void *(*const of[3])(void *) = {produce, run_inner_loop, call};
    rounds = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;
    if (rounds == 0 || rounds > MOST)
        return 2;
    seeded_bug = getenv("SEEDED_BUG") != NULL ? atoi(getenv("SEEDED_BUG")) : 0;
    alarm(100);
    for (uint32_t i = 0; i < PES; i++)
        begin(i);
    for (uint32_t i = 0; i < 3 * PES; i++)
        pthread_create(&threads[i], NULL, of[i / PES], (void *)(uintptr_t)(i % PES));
    for (uint32_t i = 0; i < 3 * PES; i++)
        pthread_join(threads[i], NULL);
    printf("%d messages\n", (int)(ends[0].peers[1].sent + ends[1].peers[0].sent));
    return 0;
}
