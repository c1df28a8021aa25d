/*
 * turns.c: one thread is producer and consumer in turn, over every width at which a counter wraps,
 * and checks the results of a stopped ring.
 */
#include "consumer.h"

#include <inttypes.h>

static void push_and_read(const struct shmemi_ring *r, struct consumer *c, uint64_t start)
{
    uint64_t size = (uint64_t)1 << r->log2_slots, next = start, w[6];
    for (uint64_t round = 0; round < 6; round++) {
        uint64_t used = 0, count = 0, first = next;
        for (;; count++) {
            int slots = 1 + (int)((count + round) % 3);
            if (used + (uint64_t)slots > size)
                break;
            struct shmemi_words words =
                slots == 1   ? shmemi_pack_p(7, 0, next & 0xffff, 2, (uint32_t)count)
                : slots == 2 ? shmemi_pack_p_wide(7, 0, next & 0xffff, ~count)
                             : shmemi_pack_put_signal(7, 0, next & 0xffff, ~count, 1, 0, 0, 0,
                                                      ~count, count);
            uint64_t p = shmemi_push(r, &words, slots);
            if (p != next)
                FAIL("from %" PRIx64 ": position %" PRIx64 ", want %" PRIx64, start, p, next);
            next += (uint64_t)slots;
            used += (uint64_t)slots;
        }
        for (uint64_t i = 0; i < count; i++) {
            int slots = consumer_next(c, w);
            if (slots != 1 + (int)((i + round) % 3) || shmemi_get_dest(w) != (first & 0xffff) ||
                (slots == 1 && shmemi_get_value32(w) != i) ||
                (slots == 2 && shmemi_get_value(w) != ~i) ||
                (slots == 3 && (shmemi_get_local(w) != ~i || shmemi_get_signal(w) != ~i ||
                                shmemi_get_signal_at(w) != i)))
                FAIL("from %" PRIx64 ", round %" PRIu64 ": operation %" PRIu64 " is not as pushed",
                     start, round, i);
            first += (uint64_t)slots;
        }
        if (consumer_next(c, w) != 0)
            FAIL("from %" PRIx64 ", round %" PRIu64 ": not empty", start, round);
        consumer_publish(c);
    }
}

/* A fence among several rings waits until the proxy has reached it, and for the other ring. */
static void fences(const struct shmemi_ring *r, uint64_t start)
{
    struct shmemi_ring rings[2] = {*r, ring_new(2, start)};
    struct consumer c = consumer_of(&rings[1]);
    struct shmemi_words nop = shmemi_pack_nop();
    uint64_t w[6], p = near_of(r)->head;
    consumer_met(&(struct consumer){r, 0}, p + 1);
    if (shmemi_ring_fence(rings, 2, 0, 0) != 0)
        FAIL("fence at %" PRIx64 " was not met", p);
    consumer_stop(&(struct consumer){r, 0});
    if (shmemi_ring_fence(rings, 2, 0, 0) != SHMEMI_STOPPED)
        FAIL("fence at %" PRIx64 " was met by the one before it", p + 1);
    line_of(r)->stopped = 0;
    shmemi_push(&rings[1], &nop, SHMEMI_SLOTS_NOP);
    consumer_stop(&c);
    if (shmemi_ring_fence(rings, 2, 0, 0) != SHMEMI_STOPPED ||
        shmemi_ring_quiet(rings, 2, 0, 0) != SHMEMI_STOPPED || near_of(r)->head != p + 2)
        FAIL("fence or quiet went ahead of another ring at %" PRIx64, near_of(&rings[1])->head);
    consumer_next(&c, w);
    consumer_publish(&c);
    consumer_met(&(struct consumer){r, 0}, p + 3);
    if (shmemi_ring_fence(rings, 2, 0, 0) != 0)
        FAIL("fence waits for a ring that was read to %" PRIx64, c.position);
    munmap(rings[1].line, ring_bytes(2));
}

/* A quiet waits for done to pass its position and for nothing before. */
static void quiets(const struct shmemi_ring *r, struct consumer *c)
{
    uint64_t w[6], p = shmemi_near_of(r)->head;
    consumer_done(c, p + 1);
    if (shmemi_ring_quiet(r, 1, 0, 0) != 0)
        FAIL("quiet at %" PRIx64 " is not complete at done %" PRIx64, p, p + 1);
    consumer_done(c, p + 1); /* which is the position of the next one */
    consumer_stop(c);
    if (shmemi_ring_quiet(r, 1, 0, 0) != SHMEMI_STOPPED)
        FAIL("quiet at %" PRIx64 " is complete at done %" PRIx64, p + 1, p + 1);
    shmemi_progress_of(r)->stopped = 0;
    while (consumer_next(c, w) != 0)
        ;
    consumer_publish(c);
}

static void replies(const struct shmemi_ring *r, const struct consumer *c)
{
    uint64_t value = 0;
    shmemi_reply_at(r, 3)->turn = UINT32_MAX - 2;
    for (uint64_t i = 0; i < 6; i++) {
        uint32_t place = shmemi_reply_claim(r, 3), turn = shmemi_reply_turn(r, place);
        consumer_answer(c, place, ~i, -(int)i);
        if (place != 3 || shmemi_reply_wait(r, place, turn, &value) != -(int)i || value != ~i)
            FAIL("place %u, turn %x: answer %" PRIx64, place, turn, value);
    }
    /* All places, from one in the middle of them on, then one more. */
    for (uint32_t i = 0; i < 1u << LOG2_REPLIES; i++)
        if (shmemi_reply_claim(r, 1000) != ((1000 + i) & ((1u << LOG2_REPLIES) - 1)))
            FAIL("claim %u is not the next place", i);
    consumer_stop(c);
    if (shmemi_reply_claim(r, 5) != SHMEMI_NO_REPLY)
        FAIL("a place is claimed twice");
    if (shmemi_reply_wait(r, 9, shmemi_reply_turn(r, 9), &value) != SHMEMI_STOPPED)
        FAIL("an answer came from nowhere");
}

/* A producer that waits for room continues when the ring is stopped. */
static void stopped(uint32_t log2_slots)
{
    struct shmemi_ring r = ring_new(log2_slots, 0);
    struct consumer c = consumer_of(&r);
    struct shmemi_words nop = shmemi_pack_nop();
    struct shmemi_burst b = shmemi_burst_begin(&r, 1u << log2_slots, 1);
    for (uint32_t i = 0; i < 1u << log2_slots; i++)
        shmemi_burst_store(&b, i, &nop, 1);
    shmemi_burst_end(&b);
    consumer_stop(&c);
    shmemi_push(&r, &nop, 1);
    b = shmemi_burst_begin(&r, 2, 1);
    shmemi_burst_store(&b, 0, &nop, 1);
    shmemi_burst_end(&b);
    near_of(&r)->poller = 1; /* as from a thread that died while it read the tail */
    shmemi_push(&r, &nop, 1);
    if (shmemi_ring_quiet(&r, 1, 0, 0) != SHMEMI_STOPPED)
        FAIL("quiet in a stopped ring is complete");
    uint64_t w[6], n = 0;
    while (consumer_next(&c, w) != 0)
        n++;
    if (b.open || n != (uint64_t)1 << log2_slots)
        FAIL("%" PRIu64 " operations were stored in a ring of %u, or the burst is open", n,
             1u << log2_slots);
}

int main(void)
{
    static const uint64_t turns[] = {0, 1ull << 31, 1ull << 32, 1ull << 62, 1ull << 63};
    uint64_t w[6];
    alarm(110);
    for (uint32_t log2_slots = 2; log2_slots <= 8; log2_slots += 2)
        for (unsigned i = 0; i < sizeof turns / sizeof *turns; i++)
            for (uint64_t back = 0; back < 8; back++) {
                uint64_t start = turns[i] - back - ((back & 4) << log2_slots);
                struct shmemi_ring r = ring_new(log2_slots, start);
                struct consumer c = consumer_of(&r);
                push_and_read(&r, &c, start);
                quiets(&r, &c);
                fences(&r, start);
                while (consumer_next(&c, w) != 0)
                    ;
                consumer_publish(&c);
                replies(&r, &c);
                munmap(r.line, ring_bytes(log2_slots));
            }
    stopped(4);
    puts("as it should be");
    return 0;
}
