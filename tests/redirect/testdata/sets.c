/*
 * sets.c: the collectives on active sets, with arrays pSync and pWrk of the sizes and values of the
 * library's header, and guards behind them.
 */
#include "program.h"

#define ROOM 64

static struct {
    long barrier[SHMEM_BARRIER_SYNC_SIZE], guard0;
    long bcast[SHMEM_BCAST_SYNC_SIZE], guard1;
    long collect[SHMEM_COLLECT_SYNC_SIZE], guard2;
    long reduce[2][SHMEM_REDUCE_SYNC_SIZE], guard3;
    long alltoall[SHMEM_ALLTOALL_SYNC_SIZE], guard4;
    long work[ROOM / 2 + 1], guard5;
    int small[SHMEM_REDUCE_MIN_WRKDATA_SIZE > 3 ? SHMEM_REDUCE_MIN_WRKDATA_SIZE : 3], guard6;
} s;
static long from[4 * ROOM], to[4 * ROOM];
static int ints[4], sums[4];
static OSHMEM_COMPLEX_TYPE(double) complex_in, complex_out;

static void fill(long *sync, int count)
{
    for (int i = 0; i < count; i++)
        sync[i] = SHMEM_SYNC_VALUE;
}

static void prepare(void)
{
    fill(s.barrier, SHMEM_BARRIER_SYNC_SIZE);
    fill(s.bcast, SHMEM_BCAST_SYNC_SIZE);
    fill(s.collect, SHMEM_COLLECT_SYNC_SIZE);
    fill(s.reduce[0], SHMEM_REDUCE_SYNC_SIZE);
    fill(s.reduce[1], SHMEM_REDUCE_SYNC_SIZE);
    fill(s.alltoall, SHMEM_ALLTOALL_SYNC_SIZE);
    s.guard0 = s.guard1 = s.guard2 = s.guard3 = s.guard4 = s.guard5 = s.guard6 = 77;
    for (int i = 0; i < 4 * ROOM; i++)
        from[i] = 1000 * me + i;
    for (int i = 0; i < 4; i++)
        ints[i] = me + i;
    complex_in = me + 1;
}

/* Every PE of the set from start on with stride 2^log; size PEs. A PE that is ahead may write to
 * the others as soon as it begins a collective, so that all read their results between barriers. */
static void run(const char *name, int start, int log, int size)
{
    int step = 1 << log, rank = (me - start) / step;
    if (me < start || (me - start) % step != 0 || rank >= size)
        return;
#define MEET() shmem_barrier(start, log, size, s.barrier)
#define SHOW(...) (MEET(), round >= 18 ? say(__VA_ARGS__) : (void)0, MEET())
    for (int round = 0; round < 20; round++) {
        memset(to, 0, sizeof to);
        MEET();
        shmem_broadcast64(to, from, 4, round % size, start, log, size, s.bcast);
        SHOW("%s: broadcast %ld %ld", name, to[0], to[3]);
        shmem_fcollect64(to, from, 3, start, log, size, s.collect);
        SHOW("%s: fcollect %ld %ld", name, to[0], to[3 * size - 1]);
        shmem_collect64(to, from, (size_t)(1 + rank), start, log, size, s.collect);
        SHOW("%s: collect %ld %ld", name, to[0], to[size * (size + 1) / 2 - 1]);
        shmem_long_sum_to_all(to, from, ROOM, start, log, size, s.work, s.reduce[round % 2]);
        SHOW("%s: sum %ld %ld", name, to[0], to[ROOM - 1]);
        shmem_int_max_to_all(sums, ints, 4, start, log, size, s.small, s.reduce[round % 2]);
        SHOW("%s: max %d %d", name, sums[0], sums[3]);
        shmem_alltoall64(to, from, 2, start, log, size, s.alltoall);
        SHOW("%s: alltoall %ld %ld", name, to[0], to[2 * size - 1]);
    }
    shmem_complexd_sum_to_all(&complex_out, &complex_in, 1, start, log, size, (void *)s.work,
                              s.reduce[0]);
    say("%s: complex %g", name, *(double *)&complex_out);
    say("%s: guards %ld", name,
        s.guard0 + s.guard1 + s.guard2 + s.guard3 + s.guard4 + s.guard5 + s.guard6);
}

int main(void)
{
    begin();
    prepare();
    shmem_barrier_all();
    run("all", 0, 0, n);
    shmem_barrier_all();
    run("two", 0, 0, n > 2 ? 2 : 1);
    shmem_barrier_all();
    run("upper", 1, 0, n - 1);
    shmem_barrier_all();
    run("even", 0, 1, (n + 1) / 2);
    shmem_barrier_all();
    run("odd", 1, 1, n / 2);
    shmem_barrier_all();
    /* pSync on the heap, given back and taken again */
    for (int i = 0; i < 3; i++) {
        long *sync = shmem_malloc(SHMEM_BARRIER_SYNC_SIZE * sizeof *sync);
        fill(sync, SHMEM_BARRIER_SYNC_SIZE);
        shmem_barrier_all();
        if (me < n - 1)
            shmem_barrier(0, 0, n - 1, sync);
        shmem_barrier_all();
        shmem_free(sync);
    }
    say("end");
    shmem_finalize();
    return 0;
}
