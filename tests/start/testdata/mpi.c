/*
 * mpi.c: PEs of an MPI communicator, or of MPI_COMM_WORLD by plain shmem_init.
 *
 * usage: mpi comm | world | null | late | absent
 *
 * The distribution's headers are Open MPI's; of MPICH the few names are declared here.
 */
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MPICH
typedef int MPI_Comm;
#define MPI_COMM_WORLD ((MPI_Comm)0x44000000)
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *out);
int MPI_Barrier(MPI_Comm comm);
#else
#include <mpi.h>
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    if (strcmp(what, "late") == 0) {
        /* There is no MPI_Init before. */
        MPI_Comm world = MPI_COMM_WORLD;
        attr.mpi_comm = &world;
        return shmemx_init_attr(SHMEMX_INIT_WITH_MPI_COMM, &attr) == 0 ? 20 : 21;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (strcmp(what, "absent") == 0 && rank == 0) /* the others get no id */
        pause();
    int pe = rank;
    for (int i = 0; i < 2; i++) {
        MPI_Comm backwards;
        if (strcmp(what, "world") == 0 || strcmp(what, "absent") == 0) {
            shmem_init();
        } else {
            MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backwards);
            pe = size - 1 - rank;
            attr.mpi_comm = strcmp(what, "null") == 0 ? NULL : &backwards;
            if (shmemx_init_attr(SHMEMX_INIT_WITH_MPI_COMM, &attr) != 0)
                exit(22);
        }
        if (shmem_my_pe() != pe || shmem_n_pes() != size) {
            printf("PE %d of %d, not %d of %d\n", shmem_my_pe(), shmem_n_pes(), pe, size);
            exit(23);
        }
        int *box = shmem_malloc(sizeof *box);
        *box = -1;
        shmem_barrier_all();
        shmem_int_p(box, pe, (pe + 1) % size);
        shmem_barrier_all();
        if (*box != (pe + size - 1) % size) {
            printf("PE %d got %d\n", pe, *box);
            exit(24);
        }
        MPI_Barrier(MPI_COMM_WORLD); /* MPI goes on beside it */
        shmem_finalize();
    }
    MPI_Finalize();
    printf("PE %d done\n", pe);
    return 0;
}
