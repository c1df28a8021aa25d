/*
 * profiled.c: a program that is not written for the tool that profiles it.
 */
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>

int main(void)
{
    long here[300] = {5};
    start_pes(0);
    long *at = shmem_calloc(600, sizeof *at); /* it contains a barrier */
    shmem_put(at, here, 300, 0);              /* of long, by C11's name */
    shmem_putmem(at + 300, here, sizeof here, 0);
    shmem_barrier_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, at + 300, at, 300);
    (shmem_wait_until)(at + 300, SHMEM_CMP_EQ, 5);
    shmem_free(at);
    shmem_finalize();
    return 0;
}
