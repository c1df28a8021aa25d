/* load.h: libfabric at run time. */
#ifndef SHMEMI_OFI_LOAD_H
#define SHMEMI_OFI_LOAD_H

#include <stddef.h>

/*
 * Loads libfabric: the named file, or the first that loads of those the
 * library looks for. 0, or -1 with what was tried in error. Once loaded it
 * stays, whatever name later calls give.
 */
int shmemi_ofi_load(const char *name, char *error, size_t size);

/* The file that was loaded, or NULL. */
const char *shmemi_ofi_loaded(void);

#endif
