/* provider.c: the provider to which all consumers post, and which measures the delay of operations.
 */
#define _GNU_SOURCE
#include "consume.h"

#include <time.h>

/* Counts a delay. Below 64 ns a step is 1 ns; above, the six bits after the highest one select one
 * of the 64 steps of a power of two. */
void bench_delay(struct bench_delays *d, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    int step = (int)v;
    if (v >= 64) {
        int e = 63 - __builtin_clzll(v);
        step = (e - 5) * 64 + (int)(v >> (e - 6)) - 64;
    }
    d->steps[step < BENCH_STEPS ? step : BENCH_STEPS - 1]++;
    d->count++;
    d->sum += v;
    d->early += ns < 0;
    if (v > d->max)
        d->max = v;
}

/* Counts the delay of an operation, whose dest is the time at which it was due, from the start. */
static void measure(struct bench_null *n, uint64_t dest)
{
    if (n->paced && dest >= n->skip)
        bench_delay(&n->delays,
                    (int64_t)(bench_now() - n->start) - (int64_t)((double)dest * n->rate));
}

void bench_post(struct bench_null *n, const struct bench_request *r, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t *e = n->entries[n->posted++ & 255];
        e[0] = (uint64_t)r[i].op | (uint64_t)r[i].width << 8 | (uint64_t)r[i].context << 16 |
               (uint64_t)r[i].pe << 32;
        e[1] = r[i].dest;
        e[2] = r[i].local;
        e[3] = r[i].length;
        e[4] = r[i].value;
        measure(n, r[i].dest);
    }
    __atomic_store_n(&n->doorbell, n->posted, __ATOMIC_RELEASE);
}

/* Posts an operation that is a message of size bytes, or a part of one, to the queue of 256
 * entries.
 */
static void post_one(struct bench_null *n, uint32_t pe, const struct shmemi_header *h, size_t size)
{
    uint64_t *e = n->entries[n->posted++ & 255];
    e[0] = (uint64_t)pe << 32 | (uint32_t)size;
    memcpy(e + 1, h, sizeof *h);
    measure(n, (uint64_t)h->offset);
}

/* Posts the operations of a batch, a message that several of them share. Each has a record, which
 * is the beginning of a header, and behind it the bytes of a put, h.token of them, padded to 8. */
static void post_batch(struct bench_null *n, uint32_t pe, const char *message, size_t size)
{
    for (size_t at = sizeof(struct shmemi_header); at + SHMEMI_RECORD_SIZE <= size;) {
        struct shmemi_header h = {0};
        memcpy(&h, message + at, SHMEMI_RECORD_SIZE);
        bool puts = h.kind == SHMEMI_MESSAGE_PUT || h.kind == SHMEMI_MESSAGE_PUT_SIGNAL;
        size_t all = SHMEMI_RECORD_SIZE + (puts ? ((size_t)h.token + 7) & ~(size_t)7 : 0);
        post_one(n, pe, &h, all);
        at += all;
    }
}

int bench_inject(void *provider, uint32_t pe, const void *message, size_t size)
{
    struct bench_null *n = provider;
    const struct shmemi_header *h = message;
    /* null_send replies: to a flush, which is no operation, and to operations that fetch. */
    if (h->kind == SHMEMI_MESSAGE_FLUSH)
        return null_send(&n->null, pe, message);
    if (h->fetch && null_send(&n->null, pe, message) != 0)
        return -1;
    if (h->kind == SHMEMI_MESSAGE_BATCH)
        post_batch(n, pe, message, size);
    else
        post_one(n, pe, h, size);
    __atomic_store_n(&n->doorbell, n->posted, __ATOMIC_RELEASE);
    return 0;
}

uint64_t bench_await(const struct bench_null *n, uint64_t count, uint64_t ns)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    uint64_t since = bench_now(), seen = 0, posts;
    while ((posts = __atomic_load_n(&n->doorbell, __ATOMIC_ACQUIRE)) < count) {
        uint64_t now = bench_now();
        if (posts != seen) {
            since = now;
            seen = posts;
        } else if (now - since > ns) {
            break;
        }
        nanosleep(&nap, NULL);
    }
    return posts;
}
