/* standard_files.h: keeps descriptors of the library off the numbers of the standard streams. */
#ifndef SHMEMI_STANDARD_FILES_H
#define SHMEMI_STANDARD_FILES_H

#pragma GCC visibility push(hidden)

/* Opens "/" at each of the descriptors 0 to 2 that is closed, so that no later file gets it. */
void shmemi_occupy_standard_files(void);

#pragma GCC visibility pop

#endif
