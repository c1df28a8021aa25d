/* spell.h: messages with NVSHMEM's names, for a program that calls the library by them. */
#ifndef SHMEMI_SPELL_H
#define SHMEMI_SPELL_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Replaces the names of calls and constants in a text by NVSHMEM's, if the program calls the
 * library by those names. size is the size of the array. Safe in signal handlers. */
void shmemi_use_program_names(char *text, size_t size);
/* Reports whether messages have NVSHMEM's names of calls. */
bool shmemi_is_nvshmem(void);

#pragma GCC visibility pop

#endif
