/* spell.h: messages in the words of a program that has come in by the names of NVSHMEM. */
#ifndef SHMEMI_SPELL_H
#define SHMEMI_SPELL_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Puts the names of calls and constants in a text into the words of NVSHMEM, where the
 * program has come in by them; size: of the array that the text is in. For handlers of signals,
 * too. */
void shmemi_spell(char *text, size_t size);
bool shmemi_is_nvshmem(void);

#pragma GCC visibility pop

#endif
