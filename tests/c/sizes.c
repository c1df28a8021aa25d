/*
 * sizes.c: puts of every size, with and without a signal.
 *
 * usage: sizes [largest [step]]
 *
 * The sizes: each to 16 KiB, or one of step, among which are those around every inject size, header
 * and MTU that a provider has; and each power of two to the largest (1 MiB), with one byte less and
 * one more. Each PE puts to the PE on its right. Puts go in batches, each to a place of its own
 * between bytes that no PE writes. With signals, the target checks the bytes of a put as soon as
 * its signal has arrived, while later puts are still in flight.
 */
#include "check.h"

enum { PUT, PUT_SIGNAL, WAYS };
enum { EACH = 16384, BATCH = 64, GUARD = 8 };
/* A batch of the largest of the small sizes. */
enum { PLACES = BATCH * (EACH + 3 * GUARD) };

static char *dest, *source;
static uint64_t *signals;
static size_t most; /* of dest and of source */
static unsigned char *pattern;

/* The data of PE pe: a part of one text, which the target has, too. It repeats after a prime, so
 * that a byte from a place a power of two away is wrong. */
static const unsigned char *text(int pe, size_t size)
{
    return pattern + (check_mix(size + ((uint64_t)pe << 32)) & 4095);
}

/* The start of a put in a batch: never a round number. */
static size_t place(size_t in_batch, size_t size, size_t room)
{
    return in_batch * room + GUARD + size % GUARD;
}

typedef void put_call(void *to, const void *from, size_t n, uint64_t *signal, uint64_t value);

static void put(void *to, const void *from, size_t n, uint64_t *signal, uint64_t value)
{
    (void)signal, (void)value;
    shmem_putmem(to, from, n, check_right());
}

static void put_nbi(void *to, const void *from, size_t n, uint64_t *signal, uint64_t value)
{
    (void)signal, (void)value;
    shmem_putmem_nbi(to, from, n, check_right());
}

static void put_signal(void *to, const void *from, size_t n, uint64_t *signal, uint64_t value)
{
    shmem_putmem_signal(to, from, n, signal, value, SHMEM_SIGNAL_SET, check_right());
}

static void put_signal_nbi(void *to, const void *from, size_t n, uint64_t *signal, uint64_t value)
{
    shmem_putmem_signal_nbi(to, from, n, signal, value, SHMEM_SIGNAL_SET, check_right());
}

/* Every second put of a batch is nonblocking. */
static put_call *const now[WAYS] = {put, put_signal}, *const later[WAYS] = {put_nbi,
                                                                            put_signal_nbi};

static void look(size_t at, size_t size, int way)
{
    check_start((size_t)way, way == PUT ? "put" : "put_signal");
    const unsigned char *want = text(check_left(), size), *got = (unsigned char *)dest + at;
    if (memcmp(got, want, size) != 0) {
        size_t i = 0;
        while (got[i] == want[i])
            i++;
        check_fail("%zu bytes, byte %zu: expected 0x%02x, got 0x%02x", size, i, want[i], got[i]);
    }
    check_untouched(got - GUARD, 0, GUARD, "before the bytes");
    check_untouched(got + size, 0, GUARD, "behind the bytes");
}

/* Puts n sizes, at most BATCH, each to a place with room for the last of them. */
static void batch(const size_t *sizes, size_t n, int way, uint64_t round)
{
    const size_t room = sizes[n - 1] + 3 * GUARD;
    memset(dest, CHECK_SENTINEL, n * room);
    for (size_t i = 0; i < n; i++)
        memcpy(source + place(i, sizes[i], room), text(check.me, sizes[i]), sizes[i]);
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++) {
        size_t at = place(i, sizes[i], room);
        (i % 2 == 0 ? now : later)[way](dest + at, source + at, sizes[i], &signals[i], round);
    }
    if (way == PUT)
        shmem_barrier_all();
    for (size_t i = 0; i < n; i++) {
        if (way == PUT_SIGNAL)
            shmem_signal_wait_until(&signals[i], SHMEM_CMP_EQ, round);
        look(place(i, sizes[i], room), sizes[i], way);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    const size_t largest = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20;
    const size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    check_open("sizes", WAYS);
    most = largest + 1 + 3 * GUARD > PLACES ? largest + 1 + 3 * GUARD : PLACES;
    dest = check_alloc(most);
    source = check_alloc(most);
    signals = check_alloc(BATCH * sizeof *signals);
    memset(signals, 0, BATCH * sizeof *signals);
    pattern = malloc(most + 4096);
    if (pattern == NULL)
        abort();
    for (size_t i = 0; i < most + 4096; i++)
        pattern[i] = (unsigned char)check_mix(i % 65521);
    uint64_t round = 0;
    size_t sizes[BATCH];
    for (int way = 0; way < WAYS; way++) {
        for (size_t first = 0; first <= EACH; first += BATCH * step) {
            size_t n = 0;
            while (n < BATCH && first + n * step <= EACH) {
                sizes[n] = first + n * step;
                n++;
            }
            batch(sizes, n, way, ++round);
        }
        for (size_t power = EACH; power <= largest; power *= 2)
            for (size_t size = power - 1; size <= power + 1; size++)
                batch(&size, 1, way, ++round);
    }
    free(pattern);
    return check_close();
}
