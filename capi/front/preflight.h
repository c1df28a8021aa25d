/* preflight.h: tests whether the process has the resources that the Go half needs. */
#ifndef SHMEMI_PREFLIGHT_H
#define SHMEMI_PREFLIGHT_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Reports (1 or 0) whether the Go half, the file at path, can start in this process under its
 * limits; if not, error has the cause and the remedy. */
int shmemi_preflight(const char *path, char *error, size_t size);

#pragma GCC visibility pop

#endif
