/*
 * notification.c: notification counters: puts to PEs of other nodes, waits, and ranges.
 */
#define _GNU_SOURCE
#include "notification.h"

#include "collective_arguments.h"
#include "error.h"
#include "exchange.h"
#include "failure.h"
#include "gpu.h"
#include "netcall.h"
#include "sync.h"
#include "wait.h"

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------ values */

enum { MAX_COUNTERS = UINT16_MAX }; /* the largest SHMEM_NOTIFY_COUNT */

/*
 * For each counter: how much kernels had added by their stores at the latest read. A read of GPU
 * memory is a copy by the driver, and the words only grow, so they are read again only if the
 * latest value is too small.
 */
static uint64_t stored[MAX_COUNTERS];
static bool loaded; /* some counter has been read */

/* Returns the word of a counter of this PE in main memory. */
static uint64_t *main_word(int notify)
{
    return shmemi_notification_of(shmemi_state.my_pe, notify);
}

/* Records the value of a kernels' word that a read has returned. The words only grow, so of two
 * reads the larger value is the later one, whichever thread records first. Release: a thread that
 * loads the record sees the data that the additions announce. */
static void raise_stored(int notify, uint64_t found)
{
    uint64_t last = shmemi_read_once(&stored[notify]);
    while ((int64_t)(found - last) > 0 && !shmemi_exchange_if(&stored[notify], &last, found))
        ;
}

/* Reads for n counters the words to which kernels add, and records their values. Those in GPU
 * memory are copied, up to 64 at a time. */
static void load_stores(int first, int n, const char *call)
{
    const uint64_t *words = shmemi_state.notify_stores;
    uint64_t copy[64];
    if (words == NULL)
        return;
    shmemi_write_once(&loaded, true);
    for (int some; n > 0; first += some, n -= some) {
        some = n < 64 ? n : 64;
        if (shmemi_on_gpu(words))
            shmemi_move(copy, words + first, (size_t)some * sizeof *copy, call);
        for (int i = 0; i < some; i++)
            raise_stored(first + i,
                         shmemi_on_gpu(words) ? copy[i] : shmemi_observe(&words[first + i]));
    }
}

/*
 * Returns the value of a counter without a read of GPU memory: the sum of its word in main memory
 * and the last value that was read of its word for kernels, so at most the present value. Between
 * the two loads another thread may read the kernels' word and then set the counter, and the sum
 * would be wrong. So if the record has changed, both are loaded again.
 */
static uint64_t last_known_value(int notify)
{
    uint64_t again = shmemi_observe(&stored[notify]), stores, value;
    do {
        stores = again;
        value = shmemi_observe(main_word(notify)) + stores;
        again = shmemi_observe(&stored[notify]);
    } while (again != stores);
    return value;
}

/* Returns the value of a counter without a read of GPU memory (last_known_value). */
uint64_t shmemi_notification_known(int notify)
{
    return last_known_value(notify);
}

/* Returns the present value of a counter, for which the word to which kernels add is read anew. */
uint64_t shmemi_notification_value(int notify, const char *call)
{
    load_stores(notify, 1, call);
    return last_known_value(notify);
}

/* Reports whether a counter has reached count, and stores the value that it has compared in *value.
 * It reads the kernels' word in GPU memory only if the value by the last read is too small. The
 * comparison is signed: after a kernel has set the counter, its value by an older read may be below
 * 0. */
static bool has_reached(int notify, uint64_t count, uint64_t *value, const char *call)
{
    *value = last_known_value(notify);
    if ((int64_t)*value < (int64_t)count && shmemi_state.notify_stores != NULL)
        *value = shmemi_notification_value(notify, call);
    return (int64_t)*value >= (int64_t)count;
}

/* Sets a counter to a value: its word in main memory to the difference from the kernels' word. It
 * is a compare-and-swap, because another thread may set the counter, too, and the sum of two
 * additions would be neither value. */
static void set_counter(int notify, uint64_t value)
{
    uint64_t *word = main_word(notify), old = shmemi_observe(word), stores;
    do
        stores = shmemi_observe(&stored[notify]);
    while (!shmemi_exchange_if(word, &old, value - stores));
}

/* Sets n counters of this PE to 0. */
void shmemi_notification_zero(int first, int n, const char *call)
{
    load_stores(first, n, call);
    for (int i = first; i < first + n; i++)
        set_counter(i, 0);
}

/* ------------------------------------------------------------------ ranges */

/* What a counter is: in no allocated range, the first of one, or a later one. */
enum { FREE, FIRST, REST };

/* For each counter, which of these it is. Every PE has the same table, since the calls that change
 * it are collective. */
static uint8_t ranges[MAX_COUNTERS];
static bool ranged; /* the program has called shmemx_notify_alloc */

/* At init: marks all counters as free. */
void shmemi_notification_open(void)
{
    if (ranged) /* else all are free, and the table's pages were never touched */
        memset(ranges, FREE, sizeof ranges);
    if (loaded)
        memset(stored, 0, sizeof stored);
    ranged = loaded = false;
}

/* Returns the first of n consecutive counters that are in no range, or -1 if there are no n. */
static int find_free_range(int n)
{
    int count = (int)shmemi_state.notify_count, run = 0;
    for (int i = 0; i < count; i++) {
        run = ranges[i] == FREE ? run + 1 : 0;
        if (run == n)
            return i + 1 - n;
    }
    return -1;
}

/* Returns the number after that of the last counter of the range that begins at `first`. */
static int end_of(int first)
{
    int i = first + 1;
    while (i < (int)shmemi_state.notify_count && ranges[i] == REST)
        i++;
    return i;
}

/* Ends the job if the PEs pass different numbers. One reduction computes the minimum of the number
 * and of its negative, which is the negative of the maximum. It is also a barrier. */
static void check_equal_on_all(int number, const char *what, const char *call)
{
    static const struct shmemi_reducer least = {shmemi_min_i64, sizeof(int64_t)};
    int64_t mine[2] = {number, -(int64_t)number}, all[2];
    shmemi_exchange(&shmemi_world, all, mine, 2, &least, call);
    if (shmemi_collective_unbroken() && all[0] != -all[1])
        shmemi_abort(call, "pass the same on every PE", "%s is %lld on a PE and %lld on another",
                     what, (long long)all[0], -(long long)all[1]);
}

/* Ends the program if it is not in a job. */
static void check_initialised(const char *call)
{
    if (shmemi_state.n_pes == 0)
        shmemi_refuse_uninitialised(call);
}

/* Allocates n consecutive counters, the same on every PE, and sets them to 0. Returns the first, or
 * -1. */
int shmemi_notification_alloc(int n, const char *call)
{
    check_initialised(call);
    if (n < 1)
        shmemi_abort(call, "ask for 1 or more", "%d counters are no range", n);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return -1;
    /* Compares the names of the calls alone: there are no arrays, and check_equal_on_all compares
     * n.
     */
    shmemi_coll_check_arguments(&shmemi_world, NULL, NULL, 0, "", 0, call);
    int first = find_free_range(n);
    for (int i = first; first >= 0 && i < first + n; i++)
        ranges[i] = i == first ? FIRST : REST;
    if (first >= 0)
        shmemi_notification_zero(first, n, call);
    ranged = true;
    /* This is also a barrier: no PE notifies before all have set the counters to 0. */
    check_equal_on_all(n, "the number of counters", call);
    /* If a PE is lost, the range stays allocated here: a PE whose call had ended before may notify
     * its counters, and no later call of the job allocates or frees any. */
    return shmemi_collective_end() ? first : -1;
}

/* Implements shmemx_notify_free: after a barrier, frees a range of counters on every PE. */
void shmemi_notification_free(int first, const char *call)
{
    check_initialised(call);
    if (first < 0 || first >= (int)shmemi_state.notify_count || ranges[first] != FIRST)
        shmemi_abort(call, "free each range once, by the result of shmemx_notify_alloc",
                     "no range of notification counters begins at %d", first);
    if (!shmemi_collective_begin(&shmemi_world, call))
        return;
    shmemi_barrier_all(call); /* a PE may still notify, or wait */
    check_equal_on_all(first, "the first counter", call);
    if (!shmemi_collective_end())
        return;
    memset(ranges + first, FREE, (size_t)(end_of(first) - first));
}

/* ------------------------------------------------------------------ checks */

/* Ends the job because the program may not use a counter. */
static SHMEMI_COLD void refuse_counter(int notify, const char *call)
{
    check_initialised(call);
    shmemi_abort(call, "use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher",
                 "notification counter %d does not exist, there are %u", notify,
                 shmemi_state.notify_count);
}

/* Ends the job unless the program may use a counter. */
void shmemi_notification_check(int notify, const char *call)
{
    if (!shmemi_notification_exists(notify))
        refuse_counter(notify, call);
    if (SHMEMI_UNLIKELY(shmemi_state.checks == SHMEMI_CHECKS_FULL) && ranged &&
        ranges[notify] == FREE)
        shmemi_abort(call, "use the counters that shmemx_notify_alloc returned",
                     "notification counter %d is not in an allocated range", notify);
}

/* Ends the job if a value is above 2^63 - 1, the largest that a program may use for a counter. A
 * counter has 64 bits, so no addition overflows it. */
void shmemi_notification_check_value(uint64_t value, const char *what, const char *call)
{
    if (SHMEMI_UNLIKELY(value > INT64_MAX))
        shmemi_abort(call, "use 0 to 2^63 - 1", "%s %" PRIu64 " is beyond the range of a counter",
                     what, value);
}

/* What a counter is, for python/shmem, which raises an error before a call would end the job.
 * REFUSED: full checks refuse it, because the program allocates ranges, and it is in none. */
enum { ABSENT, UNRANGED, BEGINS_RANGE, WITHIN_RANGE, REFUSED };

#pragma GCC visibility push(default)
void shmemi_notify_state(int notify, int *what);
#pragma GCC visibility pop

/* Sets *what to ABSENT, UNRANGED, BEGINS_RANGE, WITHIN_RANGE or REFUSED for a counter. */
void shmemi_notify_state(int notify, int *what)
{
    bool full = shmemi_state.checks == SHMEMI_CHECKS_FULL;
    if (!shmemi_notification_exists(notify))
        *what = ABSENT;
    else if (ranges[notify] == FREE)
        *what = full && ranged ? REFUSED : UNRANGED;
    else
        *what = ranges[notify] == FIRST ? BEGINS_RANGE : WITHIN_RANGE;
}

/* --------------------------------------------------------------------- put */

/* Implements shmemx_putmem_notify where shmemi_put_notify does not: this process cannot store at
 * dest, or an argument is wrong. Checks the arguments. Then it copies and adds itself if it can,
 * else the network does both. */
void shmemi_put_notify_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int notify,
                            int pe, bool nbi, const char *call)
{
    shmemi_notification_check(notify, call);
    int64_t offset = shmemi_check_target(dest, n, source, pe, "source", call);
    if (shmemi_state.checks == SHMEMI_CHECKS_FULL)
        shmemi_ctx_check(ctx, call);
    if (shmemi_refuse_lost(pe, call))
        return;
    /* dest may be in GPU memory, to which the driver has to be able to copy (base). The counter is
     * in main memory, where this process has to be able to add to it (peer_base). */
    char *base = shmemi_reachable(pe, offset);
    if (shmemi_state.peer_base[pe] != NULL && (base != NULL || n == 0)) {
        if (n > 0)
            shmemi_move(base + offset, source, n, call);
        shmemi_publish_add(shmemi_notification_of(pe, notify), 1);
        shmemi_notify(pe);
    } else {
        shmemi_net_do(
            &(struct shmemi_host_operation){.kind = SHMEMI_OPERATION_PUT_SIGNAL,
                                            .ctx = ctx,
                                            .pe = pe,
                                            .nbi = nbi,
                                            .offset = offset,
                                            .nbytes = n,
                                            .source = source,
                                            .signal_offset = shmemi_notification_offset(notify),
                                            .operand = 1,
                                            .op = SHMEMI_AMO_ADD,
                                            .call = call});
    }
}

/* -------------------------------------------------------------------- wait */

/* The counter of a wait, and the value that it has to reach. */
struct awaited {
    int notify;
    uint64_t count;
};

/* For the hang report: names the counter, the value that it must reach, and its value now. */
static void describe(const void *subject, char *text, size_t size)
{
    const struct awaited *a = subject;
    snprintf(text, size, "for notification counter %d >= %" PRIu64 ", now %" PRIu64, a->notify,
             a->count, shmemi_notification_value(a->notify, "shmemx_notify_wait"));
}

/* Implements shmemx_notify_wait: waits until a counter has reached count, and returns its value. */
uint64_t shmemi_notification_wait(int notify, uint64_t count, const char *call)
{
    shmemi_notification_check(notify, call);
    shmemi_notification_check_value(count, "the count", call);
    struct awaited a = {notify, count};
    uint64_t value;
    SHMEMI_WAIT(SHMEMI_ANY_NOTIFIER, call, describe, &a, has_reached(notify, count, &value, call));
    return value;
}

/* Implements shmemx_notify_test: reports whether a counter has reached count. It does not wait, but
 * polls the network once. */
int shmemi_notification_test(int notify, uint64_t count, const char *call)
{
    shmemi_notification_check(notify, call);
    shmemi_notification_check_value(count, "the count", call);
    uint64_t value;
    if (has_reached(notify, count, &value, call))
        return 1;
    if (shmemi_state.networked)
        shmemi_net_poll(call);
    shmemi_fail_test_if_lost(call);
    return has_reached(notify, count, &value, call);
}

/* Implements shmemx_notify_fetch: the present value of a counter. */
uint64_t shmemi_notification_fetch(int notify, const char *call)
{
    shmemi_notification_check(notify, call);
    if (shmemi_state.networked)
        shmemi_net_poll(call);
    return shmemi_notification_value(notify, call);
}

/* Implements shmemx_notify_reset: sets a counter, and wakes threads that wait for it. */
void shmemi_notification_reset(int notify, uint64_t value, const char *call)
{
    shmemi_notification_check(notify, call);
    shmemi_notification_check_value(value, "the value", call);
    load_stores(notify, 1, call);
    set_counter(notify, value);
    shmemi_notify(shmemi_state.my_pe); /* another thread may wait for it */
}
