/*
 * load.h: the MPI library that the program has loaded, if it has.
 */
#ifndef SHMEMI_MPI_LOAD_H
#define SHMEMI_MPI_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Finds the library; 0: this process has none that is known here. */
int shmemi_mpi_find(void);

/* Whether MPI_Init has been called, and MPI_Finalize has not. */
int shmemi_mpi_up(void);

/* The handle of a communicator: of the MPI_Comm that the pointer names, or, for NULL, of
 * MPI_COMM_WORLD. */
uint64_t shmemi_mpi_comm(const void *pointer);

/* These answer MPI's codes: 0 or an error. */
int shmemi_mpi_rank(uint64_t comm, int *rank, int *size);

/* Hands n bytes of rank 0 to all. It waits this many milliseconds; SHMEMI_MPI_LATE: they were not
 * enough, and the bytes are MPI's until the process ends. */
enum { SHMEMI_MPI_LATE = -1 };
int shmemi_mpi_broadcast(uint64_t comm, void *bytes, int n, int64_t ms);

#endif
