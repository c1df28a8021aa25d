/*
 * hmem.h: why libfabric does not know the memory of GPUs.
 */
#ifndef SHMEMI_OFI_HMEM_H
#define SHMEMI_OFI_HMEM_H

#include <stddef.h>

/* Whether the loader finds a library; with present, whether the process has it. Then path is
 * its file. */
int shmemi_ofi_loads(const char *name, int present, char *path, size_t len);

#endif
