/* waits.c: waits and tests with each comparison, and locks. */
#include "program.h"

static long flags[8];
static int small_flag;
static long lock, shared_count;

int main(void)
{
    begin();
    int right = (me + 1) % n;
    for (int i = 0; i < 8; i++)
        flags[i] = 10;
    shmem_barrier_all();
    say("EQ %d NE %d GT %d LE %d LT %d GE %d", shmem_long_test(&flags[7], SHMEM_CMP_EQ, 10),
        shmem_long_test(&flags[7], SHMEM_CMP_NE, 10), shmem_long_test(&flags[7], SHMEM_CMP_GT, 10),
        shmem_long_test(&flags[7], SHMEM_CMP_LE, 10), shmem_long_test(&flags[7], SHMEM_CMP_LT, 10),
        shmem_long_test(&flags[7], SHMEM_CMP_GE, 10));
    shmem_long_p(&flags[0], 20, right);
    shmem_long_p(&flags[1], 21, right);
    shmem_long_p(&flags[2], 22, right);
    shmem_long_p(&flags[3], -3, right);
    shmem_long_p(&flags[4], -4, right);
    shmem_long_p(&flags[5], 25, right);
    shmem_long_wait_until(&flags[0], SHMEM_CMP_EQ, 20);
    shmem_long_wait_until(&flags[1], SHMEM_CMP_NE, 10);
    shmem_long_wait_until(&flags[2], SHMEM_CMP_GT, 10);
    shmem_long_wait_until(&flags[3], SHMEM_CMP_LE, -3);
    shmem_long_wait_until(&flags[4], SHMEM_CMP_LT, 0);
    shmem_long_wait_until(&flags[5], SHMEM_CMP_GE, 25);
    say("flags %ld %ld %ld %ld %ld %ld", flags[0], flags[1], flags[2], flags[3], flags[4],
        flags[5]);
    shmem_int_p(&small_flag, 1, right);
    shmem_int_wait(&small_flag, 0); /* deprecated */
    shmem_barrier_all();
    for (int i = 0; i < 50; i++) {
        shmem_set_lock(&lock);
        long now = shmem_long_g(&shared_count, 0);
        shmem_long_p(&shared_count, now + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
#if OSHMEM_MAJOR_VERSION < 5 /* 5.0.7 sometimes gives a lock to two PEs */
    if (me == 0)
        say("count %ld, lock is free again: %d", shared_count, shmem_test_lock(&lock) == 0);
    shmem_barrier_all();
    if (me == n - 1)
        say("and held: %d", n == 1 || shmem_test_lock(&lock) != 0);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&lock);
#endif
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
