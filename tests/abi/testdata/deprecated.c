/*
 * deprecated.c: each line with WARNED has one use of a deprecated name, and the
 * others have none.
 */
#include <shmem.h>

extern long word[SHMEM_SYNC_SIZE];
extern int number;
extern short half;
void use(void);

long word[SHMEM_SYNC_SIZE];
int number;
short half;

void use(void)
{
    shmem_int_add(&number, 1, 0); /* WARNED */
    shmem_sync(0, 0, 1, word);    /* WARNED */
    (void)_my_pe();               /* WARNED */
    shfree(shmem_malloc(8));      /* WARNED */
    shmem_wait(word, 0);          /* WARNED */
    shmem_long_wait(word, 0);     /* WARNED */
    shmem_barrier(0, 0, 1, word); /* WARNED */
    shmem_set_cache_inv();        /* WARNED */
    shmem_long_atomic_add(word, 1, 0);
    shmem_long_wait_until(word, SHMEM_CMP_NE, 0);
#if defined(__cplusplus) || __STDC_VERSION__ >= 201112L
    (void)shmem_fadd(word, 1, 0); /* WARNED */
    shmem_inc(&number, 0);        /* WARNED */
    shmem_atomic_add(&number, 1, 0);
    shmem_wait_until(word, SHMEM_CMP_NE, 0);
    (void)shmem_test(word, SHMEM_CMP_NE, 0);
    shmem_sync(SHMEM_TEAM_WORLD);
#ifdef __cplusplus
    shmem_wait_until(&half, SHMEM_CMP_NE, 0); /* WARNED */
    (void)shmem_test(&half, SHMEM_CMP_NE, 0); /* WARNED */
#else                                         /* every type would cause a warning */
    shmem_wait_until(&half, SHMEM_CMP_NE, 0);
    (void)shmem_test(&half, SHMEM_CMP_NE, 0);
#endif
#else
    shmem_wait_until(word, SHMEM_CMP_NE, 0); /* WARNED */
#endif
}
