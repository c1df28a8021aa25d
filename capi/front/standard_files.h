/* standard_files.h: no descriptor of the library takes the number of a standard stream. */
#ifndef SHMEMI_STANDARD_FILES_H
#define SHMEMI_STANDARD_FILES_H

#pragma GCC visibility push(hidden)

/* Occupies those of the descriptors 0 to 2 that are closed. */
void shmemi_occupy_standard_files(void);

#pragma GCC visibility pop

#endif
