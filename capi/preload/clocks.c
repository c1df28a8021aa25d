/*
 * clocks.c: how far this PE's clock is from that of PE 0, measured by the library's own calls.
 *
 * A PE writes a number into PE 0's memory, and PE 0 replies with its clock and the number. PE 0
 * read its clock after the PE had sent the number and before the PE had the reply, which bounds the
 * difference of the clocks from both sides. The distance between the closest bounds of 50 such
 * exchanges is the error; a PE that loses its processor within one only makes that one useless.
 *
 * The symmetric memory is allocated for the measurement and freed after it, so that the program's
 * own allocations are the same as without the shim. In NVSHMEM programs nothing is measured,
 * because their heap is in GPU memory.
 */
#define _GNU_SOURCE
#include "clocks.h"

#include "head.h"
#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define EXCHANGES 50

/* The library's functions for the measurement; all have been in OpenSHMEM since 1.0. */
static struct {
    uintptr_t (*malloc)(size_t);
    void (*free)(uintptr_t);
    void (*barrier_all)(void);
    void (*quiet)(void);
    void (*fence)(void);
    void (*p)(uintptr_t, int64_t, int);
    int64_t (*g)(uintptr_t, int);
} call;

/* Finds the functions in the library behind the shim, and stores them in call. Returns false if the
 * library lacks one of them. */
static bool find_functions(const struct preload_frame *f)
{
    call.malloc = preload_find(PRELOAD_shmem_malloc, f->caller);
    call.free = preload_find(PRELOAD_shmem_free, f->caller);
    if (!call.malloc || !call.free) {
        call.malloc = preload_find(PRELOAD_shmalloc, f->caller);
        call.free = preload_find(PRELOAD_shfree, f->caller);
    }
    call.barrier_all = preload_find(PRELOAD_shmem_barrier_all, f->caller);
    call.quiet = preload_find(PRELOAD_shmem_quiet, f->caller);
    call.fence = preload_find(PRELOAD_shmem_fence, f->caller);
    call.p = preload_find(PRELOAD_shmem_longlong_p, f->caller);
    call.g = preload_find(PRELOAD_shmem_longlong_g, f->caller);
    return call.malloc && call.free && call.barrier_all && call.quiet && call.fence && call.p &&
           call.g;
}

/* Returns a number that is the same in all processes of one running kernel: a hash of its boot ID.
 * PEs with the same number read the same clock. 0 if the ID cannot be read. */
static int64_t machine_number(void)
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

/* Returns this PE's time, in the unit and with the zero of traces. */
static int64_t trace_time(void)
{
    return (int64_t)preload_trace_time(preload_monotonic());
}

/* The words in the symmetric memory of each PE. */
enum {
    MACHINE, /* the number of its machine */
    TURN,    /* not at PE 0: set to 1 by PE 0 when this PE may measure */
    REQUEST, /* at PE 0: the number that the measuring PE has sent */
    CLOCK,   /* at the measuring PE: PE 0's clock */
    REPLY,   /* at the measuring PE: the number of the request to which CLOCK belongs */
    OTHER,   /* from here on at PE 0, for each PE: 1 if it is of another machine */
};

/* Returns the address of the n-th word in the symmetric memory at base. */
static uintptr_t word_at(uintptr_t base, int n)
{
    return base + (uintptr_t)n * sizeof(int64_t);
}

/* Waits until word n in the memory of this PE, pe, has the value. It calls the library meanwhile,
 * because libraries without a thread of their own make progress only within calls. */
static void await(uintptr_t base, int n, int64_t value, int pe)
{
    while (call.g(word_at(base, n), pe) != value)
        call.quiet();
}

/* Called by PE 0 while PE k measures its clock: lets PE k begin, and replies to each of its
 * requests with PE 0's time. Each exchange of the job has a different number. */
static void reply_to(uintptr_t base, int k)
{
    call.p(word_at(base, TURN), 1, k);
    call.quiet();
    for (int64_t i = 0; i < EXCHANGES; i++) {
        int64_t number = (int64_t)k * EXCHANGES + i;
        await(base, REQUEST, number, 0);
        call.p(word_at(base, CLOCK), trace_time(), k);
        call.fence(); /* PE k reads CLOCK as soon as it has REPLY */
        call.p(word_at(base, REPLY), number, k);
        call.quiet();
    }
}

/* Measures the clock of this PE, which is not PE 0, when PE 0 lets it begin. Each exchange bounds
 * the difference of the clocks from both sides; the head of the trace gets the middle of the
 * closest bounds, and half their distance as the error. */
static void measure(uintptr_t base, int pe)
{
    int64_t lower = INT64_MIN, upper = INT64_MAX, begun = 0;
    await(base, TURN, 1, pe);
    for (int64_t i = 0; i < EXCHANGES; i++) {
        int64_t number = (int64_t)pe * EXCHANGES + i;
        begun = trace_time();
        call.p(word_at(base, REQUEST), number, 0);
        call.quiet();
        await(base, REPLY, number, pe);
        int64_t ended = trace_time(), clock = call.g(word_at(base, CLOCK), pe);
        lower = clock - ended > lower ? clock - ended : lower;
        upper = clock - begun < upper ? clock - begun : upper;
    }
    /* If the clocks drift by nanoseconds meanwhile, the upper bound may be below the lower one. */
    int64_t width = upper > lower ? upper - lower : 0;
    preload_head_clock((uint64_t)begun, lower + (upper - lower) / 2, (uint64_t)width / 2 + 1);
}

/* Measures the clocks of the PEs on other machines than PE 0's against PE 0's clock, one after the
 * other. The PEs on PE 0's machine read the same clock as PE 0. */
void preload_clocks(const struct preload_frame *f, int pe, int npes)
{
    if (preload_calls[f->number].flags & PRELOAD_NVSHMEM)
        return;
    if (npes == 1 || pe == 0)
        preload_head_clock((uint64_t)trace_time(), 0, 0);
    if (npes == 1 || !find_functions(f))
        return;
    preload_enter();
    uintptr_t base = call.malloc((size_t)(OTHER + npes) * sizeof(int64_t));
    if (base) {
        for (int i = 0; i < OTHER + npes; i++)
            call.p(word_at(base, i), i == MACHINE ? machine_number() : 0, pe);
        call.quiet();
        call.barrier_all();
        bool elsewhere = call.g(word_at(base, MACHINE), 0) != machine_number();
        if (elsewhere)
            call.p(word_at(base, OTHER + pe), 1, 0);
        else if (pe != 0)
            preload_head_clock((uint64_t)trace_time(), 0, 0);
        call.quiet();
        call.barrier_all();
        if (elsewhere)
            measure(base, pe);
        for (int k = 1; pe == 0 && k < npes; k++)
            if (call.g(word_at(base, OTHER + k), 0) == 1)
                reply_to(base, k);
        call.barrier_all();
        call.free(base);
    }
    preload_leave();
}
