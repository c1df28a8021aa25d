/*
 * lookup.h: functions of SHMEM by name, and those that programs look up by dlsym.
 */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload.h"

/* Returns the call number of the function with this name; -1 if the table of calls has none. */
int preload_number(const char *name);

/* Returns the SHMEM library's own function with this call number if the program has looked up its
 * name by dlsym, which has returned the shim's function to it; otherwise NULL. */
void *preload_found_by_dlsym(unsigned number);

/* Reports whether a file is a library of SHMEM, or a part of one. */
bool preload_is_library(const char *path);

#endif
