/* loader.h: finding and loading libshmem_core.so. */
#ifndef SHMEMI_LOADER_H
#define SHMEMI_LOADER_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Returns the core's function table, loaded at the first call; NULL when the core cannot be loaded:
 * error has the reason and the remedy. */
const struct shmemi_core *shmemi_core_open(char *error, size_t size);

/* Returns the path of the file that holds this library; "" if the dynamic linker does not know it.
 */
const char *shmemi_front_path(void);

#pragma GCC visibility pop

#endif
