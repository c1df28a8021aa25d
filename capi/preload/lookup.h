/*
 * lookup.h: functions of SHMEM by name, and what programs ask dlsym for.
 */
#ifndef PRELOAD_LOOKUP_H
#define PRELOAD_LOOKUP_H

#include "preload.h"

/* The number of a function; -1 where the table has none of this name. */
int preload_number(const char *name);

/* The library's function that a program has asked dlsym for; NULL: none. */
void *preload_adopted(unsigned number);

/* Whether a file is a library of SHMEM, or a part of one. */
bool preload_is_library(const char *path);

#endif
