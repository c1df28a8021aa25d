/* Semantics 3: uninitialised attributes, an id that every PE makes, and versions. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PES = 2 };

static int pe(int rank, int in, int out)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (nvshmemx_get_uniqueid(&id) != 0)
        return 2;
    if (rank == 0 && write(out, &id, sizeof id) != sizeof id)
        return 3;
    if (rank != 0 && read(in, &id, sizeof id) != sizeof id)
        return 4;
    nvshmemx_init_attr_t attr;
    memset(&attr, 0x5a, sizeof attr);
    if (nvshmemx_set_attr_uniqueid_args(rank, PES, &id, &attr) != 0)
        return 5;
    /* Programs in other languages call the library's function, without the header's. */
    if (rank == 0 ? nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0
                  : nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        return 7;
    if (nvshmem_my_pe() != rank || nvshmem_n_pes() != PES)
        return 8;
    nvshmem_barrier_all();
    nvshmemx_hostlib_finalize();
    printf("PE %d passed\n", rank);
    return 0;
}

int main(void)
{
    int ends[2], failed = 0, status;
    if (pipe(ends) != 0)
        return 1;
    for (int rank = 0; rank < PES; rank++)
        if (fork() == 0)
            return pe(rank, ends[0], ends[1]);
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}
