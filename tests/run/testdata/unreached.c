/*
 * unreached.c: the last PE gets out of reach of PE 1, which has never used it, and PE 1 puts to it.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static char symmetric[1000];

int main(void)
{
    shmem_init();
    char local[sizeof symmetric] = {0};
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (me == 1) {
        if (system("ip neigh replace 198.18.0.2 lladdr 02:00:00:00:00:99 dev eth0 nud permanent"))
            shmem_global_exit(3);
        for (;;)
            shmem_putmem(symmetric, local, sizeof local, last);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
