/* asleep.c: the library that the program was linked with is in the process and has not been
 * initialised. */
#define _GNU_SOURCE
#include "program.h"

#include <dlfcn.h>
#include <stdbool.h>

int main(void)
{
    begin();
    const bool *initialised = dlsym(RTLD_DEFAULT, "oshmem_shmem_initialized");
    int (*mpi_initialised)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int mpi = -1;
    if (mpi_initialised != NULL)
        mpi_initialised(&mpi);
    say("OSHMEM %d MPI %d", initialised == NULL ? -1 : *initialised, mpi);
    shmem_finalize();
    return 0;
}
