/*
 * hmem.h: finds out why libfabric cannot use the memory of GPUs.
 */
#ifndef SHMEMI_OFI_HMEM_H
#define SHMEMI_OFI_HMEM_H

#include <stddef.h>

/* Returns 1 if the loader finds a library, and stores its file in path. With present, the process
 * must have loaded the library already. */
int shmemi_ofi_loads(const char *name, int present, char *path, size_t len);

#endif
