/*
 * threads.c PRODUCERS RINGS LOG2_SLOTS ROUNDS WHAT: host threads as GPU threads, one consumer for
 * each ring.
 *
 * Each operation names a place that its producer wrote just before, and the consumer reads it
 * there. The producer overwrites the same place as soon as the room that it got shows that the
 * consumer has read it. So both orders are needed at every operation, and ThreadSanitizer or the
 * values show a missing one. WHAT is puts, or mixed for every kind of operation.
 *
 * A program with SEEDED_BUGS makes the mistake that the variable SEEDED_BUG numbers, for the proof
 * that this is found:
 *   1  slots are stored before what they name is written
 *   2  nothing is between what is written and the slots
 *   3  the consumer gives slots back before it has read what they name
 *   4  the look at an answer orders nothing
 *   5  the consumer tells that a quiet is complete before it has done the last
 */
#include "../../../device/shmem/memory.h"
#ifdef SEEDED_BUGS
static int seeded_bug;
#define shmemi_acquire_far32(word)                                                                 \
    (seeded_bug == 4 ? shmemi_load_far32(word) : shmemi_acquire_far32(word))
#else
enum { seeded_bug = 0 };
#endif
#include "consumer.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { MAX_RINGS = 8, MAX_PRODUCERS = 64, BURST = 32, NOBODY = MAX_PRODUCERS };

struct source {
    uint64_t word[4];
};

static struct shmemi_ring rings[MAX_RINGS];
static uint32_t n_rings, n_producers, log2_slots;
static uint32_t largest, window; /* puts of a burst; sources of a producer in a ring */
static uint64_t rounds;
static int mixed, over;

/*
 * How many operations of each producer a ring's consumer has taken, and how many of them had a
 * fence. The producer reads the latter after a quiet, by a plain load, because quiet and fence must
 * make that safe.
 */
static struct {
    uint64_t of[MAX_PRODUCERS], fenced[MAX_PRODUCERS];
} seen[MAX_RINGS];

/*
 * The last word that each producer wrote before its quiet or fence, which no slot names: like a
 * direct store to a peer, which these must cover too.
 */
static uint64_t direct[MAX_PRODUCERS];

struct producer {
    pthread_t thread;
    uint32_t number;
    struct source *sources[MAX_RINGS];
    uint64_t sent[MAX_RINGS], fenced[MAX_RINGS];
    uint64_t random;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

static uint64_t value_of(uint32_t ring, uint32_t producer, uint64_t sequence)
{
    return mix((uint64_t)ring << 56 ^ (uint64_t)producer << 44 ^ sequence);
}

static struct source *source_of(const struct producer *p, uint32_t ring, uint64_t sequence)
{
    return &p->sources[ring][sequence % window];
}

static void write_words(struct source *s, const struct producer *p, uint32_t ring,
                        uint64_t sequence)
{
    for (int i = 0; i < 4; i++)
        s->word[i] = value_of(ring, p->number, sequence) + (uint64_t)i;
}

static void write_source(const struct producer *p, uint32_t ring, uint64_t sequence)
{
    write_words(source_of(p, ring, sequence), p, ring, sequence);
}

/* Orders the words just written before the `count` operations for the ring that name them. */
static void before_slots(struct producer *p, uint32_t ring, uint32_t count)
{
    p->fenced[ring] += count;
    if (seeded_bug != 2)
        shmemi_before_slots();
}

static struct shmemi_words put_words(const struct producer *p, uint32_t ring, uint64_t sequence)
{
    return shmemi_pack_put(p->number, 0, sequence,
                           (uint64_t)(uintptr_t)source_of(p, ring, sequence), sizeof(struct source),
                           0, 0);
}

static void put(struct producer *p, uint32_t ring)
{
    uint64_t sequence = p->sent[ring]++;
    struct shmemi_words words = put_words(p, ring, sequence);
    if (seeded_bug != 1)
        write_source(p, ring, sequence);
    before_slots(p, ring, 1);
    shmemi_push(&rings[ring], &words, SHMEMI_SLOTS_PUT);
    if (seeded_bug == 1)
        write_source(p, ring, sequence);
}

static void put_signal(struct producer *p, uint32_t ring)
{
    uint64_t sequence = p->sent[ring]++;
    struct shmemi_words words = shmemi_pack_put_signal(
        p->number, 0, sequence, (uint64_t)(uintptr_t)source_of(p, ring, sequence),
        sizeof(struct source), 0, 0, 1, ~sequence, sequence);
    write_source(p, ring, sequence);
    before_slots(p, ring, 1);
    shmemi_push(&rings[ring], &words, SHMEMI_SLOTS_PUT_SIGNAL);
}

/* Its operand is in a cell, which others write before and after. */
static void put_cell(struct producer *p, uint32_t ring)
{
    const struct shmemi_ring *r = &rings[ring];
    uint64_t sequence = p->sent[ring]++;
    int room, slots = p->random & 1 << 30 ? SHMEMI_SLOTS_PUT : SHMEMI_SLOTS_PUT_SIGNAL;
    uint64_t at = shmemi_reserve_cell(r, (uint64_t)slots, &room);
    char *cell = shmemi_cell(r, at);
    uint64_t local = (uint64_t)(uintptr_t)cell;
    struct shmemi_words words =
        slots == SHMEMI_SLOTS_PUT
            ? shmemi_pack_put(p->number, 0, sequence, local, sizeof(struct source), 0, 0)
            : shmemi_pack_put_signal(p->number, 0, sequence, local, sizeof(struct source), 0, 0, 1,
                                     ~sequence, sequence);
    write_words((struct source *)cell, p, ring, sequence);
    before_slots(p, ring, 1);
    shmemi_store_slots(r, at, &words, slots);
    shmemi_wake_proxy(r);
}

/* As a warp: one addition and one fence for all lanes, stored from the last on. */
static void put_burst(struct producer *p, uint32_t ring, uint32_t count)
{
    uint64_t first = p->sent[ring];
    p->sent[ring] += count;
    for (uint32_t i = 0; i < count; i++)
        write_source(p, ring, first + i);
    before_slots(p, ring, count);
    struct shmemi_burst b = shmemi_burst_begin(&rings[ring], count, SHMEMI_SLOTS_PUT);
    for (uint32_t i = count; i-- > 0;) {
        struct shmemi_words words = put_words(p, ring, first + i);
        shmemi_burst_store(&b, i, &words, SHMEMI_SLOTS_PUT);
    }
    shmemi_burst_end(&b);
}

static void p_element(struct producer *p, uint32_t ring)
{
    uint64_t sequence = p->sent[ring]++;
    struct shmemi_words words =
        shmemi_pack_p(p->number, 0, sequence, 2, (uint32_t)value_of(ring, p->number, sequence));
    shmemi_push(&rings[ring], &words, SHMEMI_SLOTS_P);
}

static void fetch(struct producer *p, uint32_t ring)
{
    const struct shmemi_ring *r = &rings[ring];
    uint64_t sequence = p->sent[ring]++, value = 0;
    uint32_t place = shmemi_reply_claim(r, p->number * 7), turn = shmemi_reply_turn(r, place);
    struct shmemi_words words =
        shmemi_pack_amo_wide(p->number, 0, sequence, 0, 3, ~sequence, sequence, 1, place);
    shmemi_push(r, &words, SHMEMI_SLOTS_AMO_WIDE);
    if (shmemi_reply_wait(r, place, turn, &value) != (int)(sequence & 0xff) ||
        value != value_of(ring, p->number, sequence))
        FAIL("producer %u, ring %u: operation %" PRIu64 " fetched %" PRIx64, p->number, ring,
             sequence, value);
}

static void get(struct producer *p, uint32_t ring)
{
    const struct shmemi_ring *r = &rings[ring];
    struct source into;
    uint64_t sequence = p->sent[ring]++, value = 0;
    uint32_t place = shmemi_reply_claim(r, p->number * 7), turn = shmemi_reply_turn(r, place);
    struct shmemi_words words =
        shmemi_pack_get(p->number, 0, sequence, (uint64_t)(uintptr_t)&into, sizeof into, 1, place);
    memset(&into, 0, sizeof into); /* before the bytes that are fetched */
    before_slots(p, ring, 1);
    shmemi_push(r, &words, SHMEMI_SLOTS_GET);
    int status = shmemi_reply_wait(r, place, turn, &value);
    for (int i = 0; i < 4; i++)
        if (status != 0 || into.word[i] != value_of(ring, p->number, sequence) + (uint64_t)i)
            FAIL("producer %u, ring %u: operation %" PRIu64 " got %" PRIx64 ", status %d",
                 p->number, ring, sequence, into.word[i], status);
}

static void quiet(struct producer *p, uint32_t ring)
{
    direct[p->number] = p->sent[ring];
    if (shmemi_ring_quiet(rings, n_rings, ring, p->number) != 0)
        FAIL("producer %u, ring %u: stopped", p->number, ring);
    for (uint32_t r = 0; r < n_rings; r++)
        if (seen[r].fenced[p->number] != p->fenced[r])
            FAIL("producer %u, ring %u: quiet after %" PRIu64 " of %" PRIu64 " operations",
                 p->number, r, seen[r].fenced[p->number], p->fenced[r]);
}

static void fence(struct producer *p, uint32_t ring)
{
    /* The fence of a single ring does not wait until the proxy has reached it. */
    if (n_rings > 1)
        direct[p->number] = p->sent[ring];
    if (shmemi_ring_fence(rings, n_rings, ring, n_rings > 1 ? p->number : NOBODY) != 0)
        FAIL("producer %u, ring %u: stopped", p->number, ring);
}

static void *produce(void *arg)
{
    struct producer *p = arg;
    for (uint64_t i = 0; i < rounds; i++) {
        p->random = mix(p->random + 0x9e3779b97f4a7c15);
        uint32_t ring = (uint32_t)(p->random >> 40) % n_rings, pick = p->random & 31;
        if (!mixed || pick < 10)
            put(p, ring);
        else if (pick < 13)
            put_signal(p, ring);
        else if (pick < 16)
            put_cell(p, ring);
        else if (pick < 20)
            put_burst(p, ring, 1 + (uint32_t)(p->random >> 20) % largest);
        else if (pick < 26)
            p_element(p, ring);
        else if (pick < 28)
            fetch(p, ring);
        else if (pick < 30)
            get(p, ring);
        else if (pick == 30)
            quiet(p, ring);
        else
            fence(p, ring);
    }
    quiet(p, p->number % n_rings);
    return NULL;
}

static void serve(struct consumer *c, uint32_t ring, const uint64_t *w)
{
    uint64_t op = shmemi_get_op(w), producer = shmemi_get_pe(w), sequence = shmemi_get_dest(w);
    uint64_t *had = &seen[ring].of[producer % MAX_PRODUCERS];
    uint64_t value = value_of(ring, (uint32_t)producer, sequence);
    if (op == SHMEMI_OP_QUIET || op == SHMEMI_OP_FENCE) {
        uint64_t of = shmemi_get_context(w);
        if (of != NOBODY && direct[of] != seen[ring].of[of])
            FAIL("ring %u: producer %" PRIu64 " wrote %" PRIu64 " before its quiet or fence", ring,
                 of, direct[of]);
    }
    if (op == SHMEMI_OP_QUIET) {
        consumer_done(c, c->position);
        return;
    }
    if (op == SHMEMI_OP_FENCE) {
        consumer_met(c, c->position);
        return;
    }
    if (producer >= n_producers || sequence != *had)
        FAIL("ring %u: operation %" PRIu64 " of producer %" PRIu64 " came after %" PRIu64 " others",
             ring, sequence, producer, *had);
    if (seeded_bug == 3) {
        consumer_publish(c);
        sched_yield(); /* so that the ring fills */
    }
    uint64_t next[2];
    if (seeded_bug == 5 && consumer_slot(c, c->position, next) &&
        shmemi_get_op(next) == SHMEMI_OP_QUIET)
        consumer_done(c, c->position + 1);
    ++*had;
    if (op != SHMEMI_OP_P && op != SHMEMI_OP_AMO_WIDE)
        seen[ring].fenced[producer]++;
    struct source *s = (struct source *)(uintptr_t)shmemi_get_local(w);
    switch (op) {
    case SHMEMI_OP_PUT:
    case SHMEMI_OP_PUT_SIGNAL:
        for (int i = 0; i < 4; i++)
            if (s->word[i] != value + (uint64_t)i)
                FAIL("ring %u: put %" PRIu64 " of producer %" PRIu64 " finds %" PRIx64
                     " in its source",
                     ring, sequence, producer, s->word[i]);
        if (op == SHMEMI_OP_PUT_SIGNAL &&
            (shmemi_get_signal(w) != ~sequence || shmemi_get_signal_at(w) != sequence))
            FAIL("ring %u: operation %" PRIu64 " is torn", ring, sequence);
        break;
    case SHMEMI_OP_P:
        if (shmemi_get_value32(w) != (uint32_t)value)
            FAIL("ring %u: operation %" PRIu64 " is torn", ring, sequence);
        break;
    case SHMEMI_OP_GET:
        for (int i = 0; i < 4; i++)
            s->word[i] = value + (uint64_t)i;
        consumer_answer(c, shmemi_get_reply(w), 0, 0);
        break;
    case SHMEMI_OP_AMO_WIDE:
        if (shmemi_get_value(w) != ~sequence || shmemi_get_value2(w) != sequence)
            FAIL("ring %u: operation %" PRIu64 " is torn", ring, sequence);
        consumer_answer(c, shmemi_get_reply(w), value, (int)(sequence & 0xff));
        break;
    default:
        FAIL("ring %u: operation %" PRIu64, ring, op);
    }
}

static void *consume(void *arg)
{
    uint32_t ring = (uint32_t)(uintptr_t)arg;
    struct consumer c = consumer_of(&rings[ring]);
    uint64_t w[6];
    for (;;) {
        int n = 0, end = __atomic_load_n(&over, __ATOMIC_ACQUIRE);
        for (; n < 64 && consumer_next(&c, w) != 0; n++)
            serve(&c, ring, w);
        if (n > 0)
            consumer_publish(&c);
        else if (end)
            return NULL;
        else
            sched_yield();
    }
}

int main(int argc, char **argv)
{
    static struct producer producers[MAX_PRODUCERS];
    pthread_t consumers[MAX_RINGS];
    if (argc != 6)
        return 2;
#ifdef SEEDED_BUGS
    seeded_bug = getenv("SEEDED_BUG") != NULL ? atoi(getenv("SEEDED_BUG")) : 0;
#endif
    alarm(100);
    n_producers = (uint32_t)atoi(argv[1]);
    n_rings = (uint32_t)atoi(argv[2]);
    log2_slots = (uint32_t)atoi(argv[3]);
    rounds = (uint64_t)atoll(argv[4]);
    mixed = strcmp(argv[5], "mixed") == 0;
    /* No more places than the window: the first place that is overwritten is one whose slots the
     * room of the last push has freed. Mixed operations have one slot or more. */
    uint32_t puts = (1u << log2_slots) / SHMEMI_SLOTS_PUT;
    largest = puts < BURST ? puts : BURST;
    window = mixed ? (1u << log2_slots) + largest : puts + 1;
    if (n_producers > MAX_PRODUCERS || n_rings > MAX_RINGS)
        return 2;
    for (uint32_t r = 0; r < n_rings; r++) {
        rings[r] = ring_new(log2_slots, 0 - (uint64_t)r * 1000); /* all but one pass 2^64 */
        rings[r].cells = calloc(SHMEMI_CELLS, SHMEMI_CELL_BYTES);
        pthread_create(&consumers[r], NULL, consume, (void *)(uintptr_t)r);
    }
    for (uint32_t i = 0; i < n_producers; i++) {
        struct producer *p = &producers[i];
        p->number = i;
        p->random = mix(i + 1);
        for (uint32_t r = 0; r < n_rings; r++)
            p->sources[r] = calloc(window, sizeof(struct source));
        pthread_create(&p->thread, NULL, produce, p);
    }
    uint64_t sum = 0, had = 0;
    for (uint32_t i = 0; i < n_producers; i++)
        pthread_join(producers[i].thread, NULL);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (uint32_t r = 0; r < n_rings; r++)
        pthread_join(consumers[r], NULL);
    for (uint32_t r = 0; r < n_rings; r++)
        for (uint32_t i = 0; i < n_producers; i++) {
            sum += producers[i].sent[r];
            had += seen[r].of[i];
        }
    if (sum != had || sum < rounds * n_producers / 2)
        FAIL("%" PRIu64 " operations were pushed and %" PRIu64 " read", sum, had);
    printf("%" PRIu64 " operations\n", sum);
    return 0;
}
