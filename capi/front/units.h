/* units.h: copies the state of the job to translation units with kernels. */
#ifndef SHMEMI_UNITS_H
#define SHMEMI_UNITS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* present reports whether the process has kernels. begin copies the state of the job to them, and
 * returns 0, or -1 with the reason in error; it sets *given if this PE runs kernels. end clears the
 * state; reset: the program has reset the GPU. */
bool shmemi_units_present(void);
int shmemi_units_begin(bool *given, char *error, size_t size);
void shmemi_units_end(bool reset);

/* Makes the image of the job's state for kernels, unless it is made. Returns 0, or -1 and an error.
 * The state that a kernel uses is a copy of this image. */
int shmemi_units_job(char *error, size_t size);
const void *shmemi_units_image(void);

#pragma GCC visibility pop

#endif
