/*
 * library.h: the shim's own calls of the library behind it. Traces show none of them.
 */
#ifndef PRELOAD_LIBRARY_H
#define PRELOAD_LIBRARY_H

#include "preload.h"

/* Queries this PE's number, and how many PEs there are, by the functions of OpenSHMEM or NVSHMEM,
 * whichever f's call belongs to. Returns false if the library has no such functions. */
bool preload_library_pe(const struct preload_frame *f, int *pe, int *npes);

/* Reports whether the library's handles are numbers of 32 bits, of which a caller may leave the
 * upper half of a register undefined. Open MPI and others have pointers. */
bool preload_library_numbers(const struct preload_frame *f);

/* Returns the path of the library that contains a function, for messages; "unknown" if the dynamic
 * linker does not know it. */
const char *preload_library_file(const void *function);

#endif
