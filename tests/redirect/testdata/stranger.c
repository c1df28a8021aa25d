/* stranger.c: an OpenSHMEM library that nobody knows. */
#include <stdlib.h>

void shmem_init(void);
void shmem_finalize(void);

void shmem_init(void)
{
    abort(); /* it must not be initialised */
}

void shmem_finalize(void)
{
}
