/*
 * bare.c: a program that clears its environment, which leaves no list of variables at all, and then
 * makes a unique id and starts a job by it, or with "plain" without one.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    (void)argv;
    if (clearenv() != 0)
        return 2;
    if (argc > 1) {
        shmem_init();
    } else {
        shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
        shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
        if (shmemx_get_uniqueid(&id) != 0 || shmemx_set_attr_uniqueid_args(0, 1, &id, &attr) != 0 ||
            shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
            return 3;
    }
    printf("PE %d of %d done\n", shmem_my_pe(), shmem_n_pes());
    shmem_finalize();
    return 0;
}
