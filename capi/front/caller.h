/* caller.h: the Python call that led to a C call, for reports. */
#ifndef SHMEMI_CALLER_H
#define SHMEMI_CALLER_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

#define SHMEMI_CALLER 256 /* bytes of that text, with its final 0 */

/* Writes the location of the Python call that this thread is in, as "shmem.zeros at train.py:12: ";
 * "" in a program of C, and if the interpreter does not reply in 0.2 s. Returns text. Not for
 * signal handlers, because it allocates memory and creates a thread. */
const char *shmemi_caller(char text[SHMEMI_CALLER]);

/* Reports whether the program's language raises an exception for each failure that C returns, so
 * that the library need not print it. */
bool shmemi_host_language_raises(void);

#pragma GCC visibility pop

#endif
