/*
 * collectives: the calls that all PEs make together, on all PEs of the job. The size is what one
 * PE contributes; of alltoall, to each PE.
 */
#include "host.h"

#include <string.h>

enum { SYNCS = 64 }; /* pSync arrays */

static long *source, *dest; /* the beginnings of src and dst */

#if !HAVE_15
static long *work; /* pWrk */
static long (*syncs)[SHMEM_REDUCE_SYNC_SIZE > SHMEM_COLLECT_SYNC_SIZE ? SHMEM_REDUCE_SYNC_SIZE
                                                                      : SHMEM_COLLECT_SYNC_SIZE];
#endif

/* Before the first figure: allocates what the collectives of OpenSHMEM 1.4 need, pSync and pWrk, if
 * the header has no teams. A reduction of n elements needs n/2 + 1 elements of pWrk, and at least
 * SHMEM_REDUCE_MIN_WRKDATA_SIZE: the sum of both is enough. */
void collectives_open(void)
{
    source = (long *)src;
    dest = (long *)dst;
#if !HAVE_15
    work = symmetric((room / 2 / sizeof(long) + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(long));
    syncs = symmetric(SYNCS * sizeof *syncs);
    for (size_t i = 0; i < SYNCS * sizeof *syncs / sizeof(long); i++)
        (*syncs)[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
#endif
}

static long calls; /* with pSync arrays, so far */

/*
 * Counts a call, whose number selects the pSync of the next. In OpenSHMEM 1.4 all PEs must have
 * left the call that had a pSync before it is used again. There are SYNCS of them, so each SYNCS-th
 * call makes a barrier for that, whose time is subtracted.
 */
static void count_call(void)
{
    if (!HAVE_15 && ++calls % SYNCS == 0) {
        double t = now();
        shmem_barrier_all();
        apart += now() - t;
    }
}

/* Selects the call with a team of OpenSHMEM 1.5, or that with an active set of OpenSHMEM 1.4. */
#if HAVE_15
#define CALL(team, set) team
#else
#define CALL(team, set) set
#endif
#define ALL_PES 0, 0, npes /* the active set: PE_start, logPE_stride, PE_size */

/* Defines the function `name`, which makes `times` calls with n elements each. The strides of
 * alltoalls are 1, so that it moves what alltoall moves. */
#define LOOP(name, call)                                                                           \
    static void name(long times, size_t size)                                                      \
    {                                                                                              \
        size_t n = size / sizeof(long);                                                            \
        for (long i = 0; i < times; i++) {                                                         \
            call;                                                                                  \
            count_call();                                                                          \
        }                                                                                          \
    }

static long root; /* it changes with each call, so that each broadcast waits for the one before */

/*
 * Makes `times` broadcasts. A PE that has the data of one may be the root of the next while another
 * PE has not left the call: its dest is not ready then, and has the data of either afterwards. So
 * the last broadcast, whose data are checked, begins after a barrier, whose time is subtracted.
 */
static void broadcast(long times, size_t size)
{
    size_t n = size / sizeof(long);
    for (long i = 0; i < times; i++) {
        if (i == times - 1) {
            double t = now();
            shmem_barrier_all();
            apart += now() - t;
        }
        root = (root + 1) % npes;
        CALL(shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, (int)root),
             shmem_broadcast64(dest, source, n, (int)root, ALL_PES, syncs[calls % SYNCS]));
        count_call();
    }
}

LOOP(sum, CALL(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n),
               shmem_long_sum_to_all(dest, source, (int)n, ALL_PES, work, syncs[calls % SYNCS])))
LOOP(maximum,
     CALL(shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, n),
          shmem_long_max_to_all(dest, source, (int)n, ALL_PES, work, syncs[calls % SYNCS])))
LOOP(collect, CALL(shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, n),
                   shmem_collect64(dest, source, n, ALL_PES, syncs[calls % SYNCS])))
LOOP(fcollect, CALL(shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n),
                    shmem_fcollect64(dest, source, n, ALL_PES, syncs[calls % SYNCS])))
LOOP(alltoall, CALL(shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n),
                    shmem_alltoall64(dest, source, n, ALL_PES, syncs[calls % SYNCS])))
LOOP(alltoalls, CALL(shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 1, n),
                     shmem_alltoalls64(dest, source, 1, 1, n, ALL_PES, syncs[calls % SYNCS])))
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 6
#define HAVE_SCANS 1
LOOP(inscan, shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, n))
LOOP(exscan, shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, n))
#endif

/* n barriers of all PEs. */
static void barrier(long n, size_t size)
{
    (void)size;
    while (n-- > 0)
        shmem_barrier_all();
}

/* n syncs of all PEs. */
static void sync_all(long n, size_t size)
{
    (void)size;
    while (n-- > 0)
        shmem_sync_all();
}

/* Returns what element i of a PE's source is before a collective: different for each element and
 * PE. The source of an alltoall has a block for each PE, and i counts through all of them. */
static long element(size_t i, int pe)
{
    return (long)i * (pe + 1) + pe;
}

/* Fills `elements` elements of this PE's source, and overwrites dest_elements elements of dest. */
static void write_source(size_t elements, size_t dest_elements)
{
    for (size_t i = 0; i < elements; i++)
        source[i] = element(i, me);
    memset(dest, 0xff, dest_elements * sizeof(long));
    shmem_barrier_all();
}

/* Fills source and overwrites dest before a collective is measured whose dest has as many elements
 * as its source. */
static void prepare(size_t size)
{
    write_source(size / sizeof(long), size / sizeof(long));
    root = 0;
}

/* Fills source and overwrites dest before a collective is measured whose dest has the elements of
 * all PEs. */
static void prepare_gathered(size_t size)
{
    write_source(size / sizeof(long), size / sizeof(long) * (size_t)npes);
}

/* Fills source and overwrites dest before an alltoall is measured: each has a block per PE. */
static void prepare_alltoall(size_t size)
{
    size_t n = size / sizeof(long) * (size_t)npes;
    write_source(n, n);
}

/* Checks that dest has the source of the root of a broadcast. In OpenSHMEM 1.4 a broadcast does not
 * write to the dest of its root. */
static bool check_broadcast(size_t size)
{
    for (size_t i = 0; i < size / sizeof(long); i++)
        if (dest[i] != element(i, (int)root) && (HAVE_15 || root != me))
            return false;
    return true;
}

/* Returns the sum that element i has in a reduction over PEs 0 to pes - 1. */
static long sum_below(size_t i, long pes)
{
    return (long)i * (pes * (pes + 1) / 2) + pes * (pes - 1) / 2;
}

/* Checks that dest has the sums over all PEs. */
static bool check_sum(size_t size)
{
    for (size_t i = 0; i < size / sizeof(long); i++)
        if (dest[i] != sum_below(i, npes))
            return false;
    return true;
}

/* Checks that dest has the maxima over all PEs. */
static bool check_maximum(size_t size)
{
    for (size_t i = 0; i < size / sizeof(long); i++)
        if (dest[i] != element(i, npes - 1))
            return false;
    return true;
}

#ifdef HAVE_SCANS
/* Checks that dest has the sums over the PEs up to this one. */
static bool check_inscan(size_t size)
{
    for (size_t i = 0; i < size / sizeof(long); i++)
        if (dest[i] != sum_below(i, me + 1))
            return false;
    return true;
}

/* Checks that dest has the sums over the PEs before this one. */
static bool check_exscan(size_t size)
{
    for (size_t i = 0; i < size / sizeof(long); i++)
        if (dest[i] != sum_below(i, me))
            return false;
    return true;
}
#endif

/* Checks that dest has the elements of each PE, in the order of their numbers. */
static bool check_gathered(size_t size)
{
    size_t n = size / sizeof(long);
    for (size_t i = 0; i < n * (size_t)npes; i++)
        if (dest[i] != element(i % n, (int)(i / n)))
            return false;
    return true;
}

/* Checks that dest has the block of each PE that is for this one. */
static bool check_alltoall(size_t size)
{
    size_t n = size / sizeof(long);
    for (size_t i = 0; i < n * (size_t)npes; i++)
        if (dest[i] != element(i % n + n * (size_t)me, (int)(i / n)))
            return false;
    return true;
}

#define COLLECTIVE(name, function, begin, data)                                                    \
    {                                                                                              \
        name, "latency", "return on PE 0", LATENCY, ALL, .unit = sizeof(long), .prepare = begin,   \
                                                         .run = function, .check = data            \
    }
#define SYNCHRONISATION(name, function)                                                            \
    {                                                                                              \
        name, "latency", "return on PE 0", LATENCY, ALL, .unsized = true, .run = function          \
    }
const struct figure collective_figures[] = {
    SYNCHRONISATION("barrier", barrier),
    SYNCHRONISATION("sync", sync_all),
    COLLECTIVE("broadcast", broadcast, prepare, check_broadcast),
    COLLECTIVE("sum", sum, prepare, check_sum),
    COLLECTIVE("max", maximum, prepare, check_maximum),
#ifdef HAVE_SCANS
    COLLECTIVE("inscan", inscan, prepare, check_inscan),
    COLLECTIVE("exscan", exscan, prepare, check_exscan),
#endif
    COLLECTIVE("collect", collect, prepare_gathered, check_gathered),
    COLLECTIVE("fcollect", fcollect, prepare_gathered, check_gathered),
    COLLECTIVE("alltoall", alltoall, prepare_alltoall, check_alltoall),
    COLLECTIVE("alltoalls", alltoalls, prepare_alltoall, check_alltoall),
    {0},
};
