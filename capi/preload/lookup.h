/*
 * lookup.h: functions of SHMEM by name, and those that programs look up by dlsym.
 */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload.h"

/* The number of a function; -1 if the table has none of this name. */
int preload_number(const char *name);

/* The function that dlsym found in a library when the program got the shim's function of that name
 * instead; NULL: the program has not looked this one up. */
void *preload_adopted(unsigned number);

/* Reports whether a file is a library of SHMEM, or a part of one. */
bool preload_is_library(const char *path);

#endif
