/*
 * load.h: this machine as hwloc sees it. load.c owns the library's functions.
 */
#ifndef SHMEMI_HWLOC_LOAD_H
#define SHMEMI_HWLOC_LOAD_H

#include <stddef.h>

/* Opens the library and takes its functions. Returns its version, major * 256 +
 * minor, or 0 with the reason in why. */
unsigned shmemi_hwloc_open(const char *file, char *why, size_t len);

/* Looks at the machine. Returns the text and its length with the zero at its end, to
 * be given to shmemi_hwloc_free, or NULL with errno set and the step that failed in
 * step. */
char *shmemi_hwloc_read(int *len, const char **step);

void shmemi_hwloc_free(char *text);

#endif
