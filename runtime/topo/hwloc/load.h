/*
 * load.h: gets hwloc's description of this machine.
 */
#ifndef SHMEMI_HWLOC_LOAD_H
#define SHMEMI_HWLOC_LOAD_H

#include <stddef.h>

/* Opens the library and finds its functions. Returns its version, major * 256 + minor, or 0 with
 * the reason in why. */
unsigned shmemi_hwloc_open(const char *file, char *why, size_t len);

/* Returns hwloc's description of this machine as XML, which the caller passes to shmemi_hwloc_free,
 * and in *len its length with the zero at the end. After a failure it returns NULL, with errno set
 * and in *step the name of the function that failed. */
char *shmemi_hwloc_read(int *len, const char **step);

/* Frees the result of shmemi_hwloc_read. */
void shmemi_hwloc_free(char *text);

#endif
