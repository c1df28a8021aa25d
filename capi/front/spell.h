/* spell.h: messages in the words of NVSHMEM, for a program that calls the library by its names. */
#ifndef SHMEMI_SPELL_H
#define SHMEMI_SPELL_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Spells the names of calls and constants in a text as NVSHMEM does, where the program has come in
 * by its names. size is that of the array. Safe in signal handlers. */
void shmemi_spell(char *text, size_t size);
bool shmemi_is_nvshmem(void);

#pragma GCC visibility pop

#endif
