/*
 * clocks.c: how far this PE's clock is from that of PE 0, measured by the library's own calls.
 *
 * PE 0 writes its clock into a word of its own symmetric memory again and again, while another PE
 * gets that word: the value is of a moment between the start and the end of the get. Of 50 gets the
 * quickest one counts. Its error is half of its time, and what passed between two writes of PE 0.
 *
 * The symmetric memory is allocated for the measurement and freed behind it, so that the program
 * finds the heap as it would be without the shim. There is no measurement of NVSHMEM programs,
 * whose heap is in GPU memory.
 */
#define _GNU_SOURCE
#include "clocks.h"

#include "head.h"
#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define GETS 50

/* The functions; all have been in OpenSHMEM since 1.0. */
static struct {
    uintptr_t (*malloc)(size_t);
    void (*free)(uintptr_t);
    void (*barrier_all)(void);
    void (*quiet)(void);
    void (*p)(uintptr_t, int64_t, int);
    int64_t (*g)(uintptr_t, int);
} call;

static bool find(const struct preload_frame *f)
{
    call.malloc = preload_find(PRELOAD_shmem_malloc, f->caller);
    call.free = preload_find(PRELOAD_shmem_free, f->caller);
    if (!call.malloc || !call.free) {
        call.malloc = preload_find(PRELOAD_shmalloc, f->caller);
        call.free = preload_find(PRELOAD_shfree, f->caller);
    }
    call.barrier_all = preload_find(PRELOAD_shmem_barrier_all, f->caller);
    call.quiet = preload_find(PRELOAD_shmem_quiet, f->caller);
    call.p = preload_find(PRELOAD_shmem_longlong_p, f->caller);
    call.g = preload_find(PRELOAD_shmem_longlong_g, f->caller);
    return call.malloc && call.free && call.barrier_all && call.quiet && call.p && call.g;
}

/* A number that the processes of one running kernel share. */
static int64_t machine(void)
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    uint64_t h = 14695981039346656037u;
    for (ssize_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return (int64_t)(h & INT64_MAX);
}

static int64_t now(void)
{
    return (int64_t)preload_since_round(preload_monotonic());
}

/* The words of each PE: its machine; the clock; whose turn it is; and of PE 0, for each PE whether
 * it wants a turn (1) and whether it has had it (2). */
enum { MACHINE, CLOCK, TURN, WANTS };

static uintptr_t word(uintptr_t base, int n)
{
    return base + (uintptr_t)n * sizeof(int64_t);
}

/* PE 0's part: shows its clock while PE k measures. */
static void show(uintptr_t base, int k)
{
    call.p(word(base, TURN), 1, k);
    call.quiet();
    while (call.g(word(base, WANTS + k), 0) != 2) {
        call.p(word(base, CLOCK), now(), 0);
        call.quiet();
    }
}

static void measure(uintptr_t base, int pe)
{
    while (call.g(word(base, TURN), pe) != 1)
        call.quiet();
    int64_t offset = 0, at = 0;
    uint64_t least = UINT64_MAX, longest_age = 0;
    int64_t before_value = 0;
    for (int i = 0; i < GETS; i++) {
        int64_t begin = now();
        int64_t value = call.g(word(base, CLOCK), 0);
        int64_t end = now();
        if (i > 0 && value != before_value) {
            /* PE 0 writes at least as often as this. */
            if ((uint64_t)(end - begin) < least) {
                least = (uint64_t)(end - begin);
                at = begin + (end - begin) / 2;
                offset = value - at;
                longest_age = (uint64_t)(value - before_value);
            }
        }
        before_value = value;
    }
    if (least != UINT64_MAX)
        preload_head_clock((uint64_t)at, offset,
                           least / 2 + (longest_age < least ? longest_age : least));
    call.p(word(base, WANTS + pe), 2, 0);
    call.quiet();
}

void preload_clocks(const struct preload_frame *f, int pe, int npes)
{
    if (preload_calls[f->number].flags & PRELOAD_NVSHMEM)
        return;
    if (npes == 1 || pe == 0)
        preload_head_clock((uint64_t)now(), 0, 0);
    if (npes == 1 || !find(f))
        return;
    preload_enter();
    uintptr_t base = call.malloc((size_t)(WANTS + npes) * sizeof(int64_t));
    if (base) {
        for (int i = 0; i < WANTS + npes; i++)
            call.p(word(base, i), i == MACHINE ? machine() : 0, pe);
        call.quiet();
        call.barrier_all();
        bool other = call.g(word(base, MACHINE), 0) != machine();
        if (other)
            call.p(word(base, WANTS + pe), 1, 0);
        else if (pe != 0)
            preload_head_clock((uint64_t)now(), 0, 0);
        call.quiet();
        call.barrier_all();
        if (other)
            measure(base, pe);
        for (int k = 1; pe == 0 && k < npes; k++)
            if (call.g(word(base, WANTS + k), 0) == 1)
                show(base, k);
        call.barrier_all();
        call.free(base);
    }
    preload_leave();
}
