/*
 * until.c: a wait for a word that another thread changes back (capi/front/until.c).
 */
#define _GNU_SOURCE
#include "until.h"
#include "wait.h"

#include "interleave.h"
#include "unreached.h"

UNREACHED(shmemi_abort)
UNREACHED(shmemi_refuse_uninitialised)
UNREACHED(shmemi_check_allocated)
UNREACHED(shmemi_refuse_outside)
UNREACHED(shmemi_outside_offset)
UNREACHED(shmemi_buffer_offset)
UNREACHED(shmemi_read_gpu)
UNREACHED(shmemi_check_aligned)
UNREACHED(shmemi_check_block)
UNREACHED(shmemi_place)
UNREACHED(shmemi_fail_lost)
UNREACHED(shmemi_ending_loss)
UNREACHED(shmemi_netcall_refuse)

enum { ASKED = 5 };

struct shmemi_state shmemi_state;
_Thread_local const char *shmemi_netcall;
static _Alignas(4096) union {
    uint64_t word;
    char page[4096];
} heap;
static uint64_t got;

bool shmemi_wait_step(struct shmemi_waiter *w)
{
    (void)w;
    heap.word = ASKED + 1;
    return true;
}

void shmemi_wait_over(struct shmemi_waiter *w)
{
    (void)w;
}

static void empty(void)
{
    heap.word = 0;
}

static void signals(void)
{
    got = shmemi_signal_wait_until(&heap.word, SHMEM_CMP_GE, ASKED, "wait");
}

static void is_enough(void)
{
    EXPECT(got >= ASKED, "the wait for %d returned %lu", ASKED, (unsigned long)got);
}

static void waits(void)
{
    got = (uint64_t)shmemi_wait_i32(&heap.word, SHMEM_CMP_NE, 0, "wait");
}

static void is_another(void)
{
    EXPECT(got != 0, "the wait for another value than 0 returned 0");
}

int main(void)
{
    static char base[sizeof(struct shmemi_ctl)], *bases[1];
    bases[0] = base + sizeof base;
    shmemi_state.n_pes = 1;
    shmemi_state.peer_base = bases;
    shmemi_state.heap_base = (uintptr_t)&heap;
    shmemi_state.heap_size = sizeof heap;
    shared_words(&heap, sizeof heap);
    interleave_all(empty, signals, empty, is_enough);
    interleave_all(empty, waits, empty, is_another);
    return interleave_result();
}
