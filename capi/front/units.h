/* units.h: the job, for translation units with kernels. */
#ifndef SHMEMI_UNITS_H
#define SHMEMI_UNITS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Gives the kernels of this process the state of the job, or removes it. Returns 0, or -1 with the
 * reason in error. given: this PE runs kernels. */
bool shmemi_units_present(void);
int shmemi_units_begin(bool *given, char *error, size_t size);
void shmemi_units_end(bool reset);

/* Makes the image of the job for kernels, if it is not made yet: 0, or -1 and error. Each copy of
 * the state is a copy of the image. */
int shmemi_units_job(char *error, size_t size);
const void *shmemi_units_image(void);

#pragma GCC visibility pop

#endif
