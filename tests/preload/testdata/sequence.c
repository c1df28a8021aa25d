/*
 * sequence.c: a program of OpenSHMEM 1.4, for any library: each PE prints what it has received. Its
 * calls are the same with each library, and depend on nothing.
 */
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>
#include <stdio.h>

enum { N = 64 };

static long flag, sum_source, sum_dest, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE],
    sync_words[SHMEM_REDUCE_SYNC_SIZE];
static double given[N];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = SHMEM_SYNC_VALUE;
    int *box = shmem_malloc(N * sizeof *box);
    int mine[N];
    for (int i = 0; i < N; i++) {
        mine[i] = 100 * me + i;
        given[i] = me + i / 100.0;
        box[i] = -1;
    }
    shmem_barrier_all();
    shmem_int_put(box, mine, N, next);
    shmem_fence();
    shmem_long_p(&flag, me + 1, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
    printf("PE %d: flag %ld, box %d to %d\n", me, flag, box[0], box[N - 1]);
    double got[N];
    shmem_double_get_nbi(got, given, N, next);
    shmem_quiet();
    printf("PE %d: got %.2f to %.2f\n", me, got[0], got[N - 1]);
    long before = shmem_long_atomic_fetch_add(&sum_source, me + 1, 0);
    shmem_barrier_all();
    printf("PE %d: the sum at PE 0 was %s and is %ld\n", me,
           before >= 0 ? "none or more" : "negative", shmem_long_g(&sum_source, 0));
    shmem_barrier_all();
    sum_source = me;
    shmem_long_sum_to_all(&sum_dest, &sum_source, 1, 0, 0, n, work, sync_words);
    printf("PE %d: reduced to %ld\n", me, sum_dest);
    shmem_free(box);
    shmem_finalize();
    return 0;
}
