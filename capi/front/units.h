/* units.h: copies the state of the job to translation units with kernels. */
#ifndef SHMEMI_UNITS_H
#define SHMEMI_UNITS_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* Reports whether a translation unit with kernels has registered. */
bool shmemi_units_present(void);
/* Copies the state of the job, at init, to all translation units that have kernels. Sets
 * *has_kernels to whether there is such a unit and this PE has a GPU. Returns 0, or -1 with the
 * reason in error. */
int shmemi_units_begin(bool *has_kernels, char *error, size_t size);
/* Clears these copies, at finalize. reset: the program has reset the GPU, which has freed them. */
void shmemi_units_end(bool reset);

/* Makes the image of the job's state for kernels, unless it is made. Returns 0, or -1 and an error.
 * The state that a kernel uses is a copy of this image. */
int shmemi_units_make_image(char *error, size_t size);
/* Returns the image that shmemi_units_make_image has made: a struct shmemi_device_image. */
const void *shmemi_units_image(void);

#pragma GCC visibility pop

#endif
