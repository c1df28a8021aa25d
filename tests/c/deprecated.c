/*
 * deprecated.c: an old program. It uses only the deprecated names, and does not call
 * shmem_finalize: after start_pes the library does.
 */
#define SHMEM_ALLOW_DEPRECATED
#include "check.h"

static int wrong;

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "deprecated: PE %d: line %d: %s\n", _my_pe(), __LINE__, #condition);   \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

static void memory(void)
{
    long *a = shmalloc(10 * sizeof *a);
    NEED(a != NULL && shmem_addr_accessible(a, 0));
    a[9] = 4711;
    a = shrealloc(a, 1000 * sizeof *a);
    NEED(a != NULL && a[9] == 4711);
    char *b = shmemalign(4096, 100);
    shfree(shmemalign(1, 100)); /* rounded up to the size of a pointer */
    NEED(b != NULL && (uintptr_t)b % 4096 == 0);
    shfree(b);
    shfree(a);
}

static void waits(int me, int n)
{
    long *flag = shmalloc(2 * sizeof *flag);
    flag[0] = flag[1] = 0;
    shmem_barrier_all();
    shmem_long_p(flag, 5, (me + 1) % n);
    shmem_wait(flag, 0);
    NEED(flag[0] == 5);
    shmem_long_p(flag + 1, me + 7, (me + 1) % n);
    (shmem_wait_until)(flag + 1, _SHMEM_CMP_GE, 7);
    NEED(flag[1] == (me + n - 1) % n + 7);
    shmem_barrier_all();
    short *half = shmem_calloc(1, sizeof *half);
    unsigned short *word = shmem_calloc(1, sizeof *word);
    shmem_short_p(half, -3, (me + 1) % n);
    shmem_ushort_p(word, 65535, (me + 1) % n);
    shmem_wait_until(half, SHMEM_CMP_LT, -2); /* the generic names */
    shmem_wait_until(word, SHMEM_CMP_GT, 65534);
    NEED(shmem_test(half, SHMEM_CMP_EQ, -3) && !shmem_test(word, SHMEM_CMP_LT, 3));
    shmem_barrier_all();
    shfree(word);
    shfree(half);
    shfree(flag);
}

static void caches(void)
{
    int here = 3;
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(&here);
    shmem_udcflush();
    shmem_udcflush_line(&here);
    shmem_clear_cache_line_inv(&here);
    shmem_clear_cache_inv();
    NEED(here == 3);
}

/* The constants, where the compiler accepts only constants. */
static long sync_words[_SHMEM_BCAST_SYNC_SIZE + _SHMEM_BARRIER_SYNC_SIZE +
                       _SHMEM_COLLECT_SYNC_SIZE + _SHMEM_REDUCE_SYNC_SIZE +
                       _SHMEM_REDUCE_MIN_WRKDATA_SIZE] = {_SHMEM_SYNC_VALUE};

int main(void)
{
    start_pes(0);
    start_pes(0); /* has no effect */
    int me = _my_pe(), n = _num_pes();
    NEED(me == shmem_my_pe() && n == shmem_n_pes());
    NEED(_SHMEM_MAJOR_VERSION == 1 && _SHMEM_MINOR_VERSION == 6);
    NEED(sizeof _SHMEM_VENDOR_STRING <= _SHMEM_MAX_NAME_LEN && sync_words[1] == 0);
    NEED(_SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE &&
         _SHMEM_CMP_GT == SHMEM_CMP_GT && _SHMEM_CMP_LE == SHMEM_CMP_LE &&
         _SHMEM_CMP_LT == SHMEM_CMP_LT);
    memory();
    waits(me, n);
    caches();
    int *sum = shmalloc(sizeof *sum);
    *sum = 0;
    shmem_barrier_all();
    shmem_int_add(sum, wrong, 0);
    shmem_barrier_all();
    if (me == 0)
        printf("deprecated: %d passed, %d failed\n", *sum == 0, *sum != 0);
    return wrong != 0;
}
