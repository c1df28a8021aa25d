/*
 * archive.h: serves device code of NVIDIA's device archive. Programs that were built with the
 * archive bring that code and a variable for its state; this library fills the variable in, and
 * what it points to. PEs that loads and stores do not reach are reached by NVSHMEM's proxy channel,
 * a ring of requests that a thread of this process carries out.
 */
#ifndef SHMEMI_ARCHIVE_H
#define SHMEMI_ARCHIVE_H

#include "below.h"

#include "zz_stream.h"

#pragma GCC visibility push(hidden)

/* What shmemi_archive_module returns for code without a state of NVIDIA's. */
enum { SHMEMI_ARCHIVE_NONE = -2 };

/* Forgets the programs of an earlier job. */
void shmemi_archive_clear(void);

/* Makes the memory for kernels of the archive, and copies the state to the programs that have
 * registered. All PEs call it together, once the GPU of each is fixed. */
void shmemi_archive_settled(const char *call);

/*
 * Copies the state to the variable of a module or library that the program has loaded. Returns 0
 * and the variable; SHMEMI_ARCHIVE_NONE if the code has none of NVIDIA's; or an error of NVSHMEM,
 * with its text.
 */
int shmemi_archive_module(enum shmemi_module_what what, const void *handle, void **at, size_t *size,
                          char *error, size_t error_size);

#pragma GCC visibility pop

#endif
