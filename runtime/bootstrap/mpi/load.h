/*
 * load.h: calls the MPI library that the program has loaded, if it has loaded one.
 */
#ifndef SHMEMI_MPI_LOAD_H
#define SHMEMI_MPI_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Finds the MPI library. Returns 1, or 0 if this process has loaded none that is known here. */
int shmemi_mpi_find(void);

/* Returns whether MPI_Init has been called, and MPI_Finalize has not. */
int shmemi_mpi_up(void);

/* Returns the handle of a communicator: of the MPI_Comm at pointer or, for NULL, of
 * MPI_COMM_WORLD. */
uint64_t shmemi_mpi_comm(const void *pointer);

/* Stores the rank in a communicator and its size. Returns MPI's code: 0 or an error. */
int shmemi_mpi_rank(uint64_t comm, int *rank, int *size);

/* Broadcasts n bytes from rank 0, and waits up to ms milliseconds. Returns 0, MPI's error, or
 * SHMEMI_MPI_LATE if the time was not enough: MPI may then use the bytes until the process ends. */
enum { SHMEMI_MPI_LATE = -1 };
int shmemi_mpi_broadcast(uint64_t comm, void *bytes, int n, int64_t ms);

#endif
