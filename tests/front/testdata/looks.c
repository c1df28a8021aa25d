/*
 * looks.c: two threads read notification counters, set them and wait for them
 * (capi/front/notification.c). Kernels add to words that a read copies; the core here is that copy.
 */
#include "notification.c" /* for its words */

#include "interleave.h"
#include "unreached.h"

UNREACHED(shmemi_abort)
UNREACHED(shmemi_refuse_uninitialised)
UNREACHED(shmemi_collective_begin)
UNREACHED(shmemi_collective_end)
UNREACHED(shmemi_collective_unbroken)
UNREACHED(shmemi_exchange)
UNREACHED(shmemi_coll_check_arguments)
UNREACHED(shmemi_barrier_all)
UNREACHED(shmemi_check_target)
UNREACHED(shmemi_ctx_check)
UNREACHED(shmemi_refuse_lost)
UNREACHED(shmemi_net_do)
UNREACHED(shmemi_put_slow)
UNREACHED(shmemi_fail_lost)
UNREACHED(shmemi_ending_loss)
UNREACHED(shmemi_wake)
UNREACHED(shmemi_world)
UNREACHED(shmemi_min_i64)
UNREACHED(shmemi_buffer_offset)
UNREACHED(shmemi_netcall_refuse)

enum { COUNTERS = 2, ASKED = 5 };

_Alignas(4096) struct shmemi_state shmemi_state;
_Thread_local const char *shmemi_netcall;
_Alignas(4096) static struct {
    struct shmemi_ctl ctl;
    _Alignas(4096) uint64_t main[COUNTERS]; /* counters in main memory */
    char rest[4096 - COUNTERS * 8];
} area;

/* In the memory of a GPU; on pages of their own, so that a copy is one step. */
static _Alignas(4096) struct {
    uint64_t stores[COUNTERS];
    bool looks_late; /* the next copy has the words of an earlier time */
    uint64_t value;  /* of the first thread's last call */
    char rest[4096 - COUNTERS * 8 - 16];
} gpu;

void shmemi_move_gpu(void *to, const void *from, size_t n, const char *call)
{
    (void)call;
    memcpy(to, from, n);
    if (gpu.looks_late)
        memset(to, 0, n);
}

static void kernels_add(uint64_t n)
{
    gpu.stores[0] += n;
}

static void late_look(void)
{
    gpu.looks_late = true;
    load_stores(0, 1, "load");
    gpu.looks_late = false;
}

static uint64_t fetch(void)
{
    return shmemi_notification_fetch(0, "fetch");
}

/* The value is 4 by additions to main memory and 6 by those of kernels. */
static void before(void)
{
    shmemi_notification_open();
    memset(area.main, 0, sizeof area.main);
    memset(gpu.stores, 0, sizeof gpu.stores);
    area.main[0] = 4;
    kernels_add(6);
}

static void fetches(void)
{
    gpu.value = fetch();
}

static void fetches_ten(void)
{
    gpu.value = fetch();
    EXPECT(gpu.value == 10, "the first thread fetched %" PRIu64 ", want 10", gpu.value);
}

static void reset_to_zero(void)
{
    shmemi_notification_reset(0, 0, "reset");
}

static void reset_to_seven(void)
{
    shmemi_notification_reset(0, 7, "reset");
}

static void zero_all(void)
{
    shmemi_notification_zero(0, COUNTERS, "zero");
}

static void kernels_add_and_reset(void)
{
    kernels_add(3);
    reset_to_zero();
}

static void expect(uint64_t value)
{
    uint64_t by_last_read = shmemi_notification_known(0), now = fetch();
    EXPECT(now == value, "the counter is %" PRIu64 ", want %" PRIu64, now, value);
    EXPECT(by_last_read == now, "by the last read it is %" PRIu64 ", and it is %" PRIu64,
           by_last_read, now);
}

static void still_ten(void)
{
    expect(10);
}

static void zero(void)
{
    expect(0);
}

static void zero_or_ten_was_fetched(void)
{
    EXPECT(gpu.value == 0 || gpu.value == 10 || gpu.value == 13,
           "the first thread fetched %" PRIu64 ", want 10, 13 or 0", gpu.value);
    expect(0);
}

static void zero_or_seven(void)
{
    uint64_t now = fetch();
    EXPECT(now == 0 || now == 7, "the counter is %" PRIu64 ", want 0 or 7", now);
}

/* The wait: each of its turns adds enough. */
bool shmemi_wait_step(struct shmemi_waiter *w)
{
    (void)w;
    kernels_add(ASKED);
    return true;
}

void shmemi_wait_over(struct shmemi_waiter *w)
{
    (void)w;
}

static void empty(void)
{
    before();
    reset_to_zero();
}

static void waits(void)
{
    gpu.value = shmemi_notification_wait(0, ASKED, "wait");
}

static void enough_was_seen(void)
{
    EXPECT(gpu.value >= ASKED && (int64_t)gpu.value > 0, "the wait for %d returned %" PRIu64, ASKED,
           gpu.value);
}

int main(void)
{
    static char *bases[1], *near_bases[1];
    bases[0] = (char *)(&area.ctl + 1);
    shmemi_state.n_pes = shmemi_state.gpu = 1;
    shmemi_state.peer_base = bases;
    shmemi_state.near_base = near_bases;
    shmemi_state.heap_base = (uintptr_t)gpu.stores;
    shmemi_state.heap_size = sizeof gpu.stores;
    shmemi_state.notify_stores = gpu.stores;
    shmemi_state.notify_count = COUNTERS;
    shmemi_state.notify_offset = (uint64_t)(bases[0] - (char *)area.main);
    shared_words(area.main, sizeof area.main);
    shared_words(stored, COUNTERS * sizeof *stored);

    interleave_all(before, fetches_ten, late_look, still_ten);
    interleave_all(before, zero_all, late_look, zero);
    interleave_all(before, fetches, kernels_add_and_reset, zero_or_ten_was_fetched);
    interleave_all(before, reset_to_seven, reset_to_zero, zero_or_seven);
    interleave_all(empty, waits, reset_to_zero, enough_was_seen);
    return interleave_result();
}
