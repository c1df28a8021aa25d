/* no_put.c: linked into a program, it replaces libshmem.so's shmem_int_p, and puts nothing. */
#include <shmem.h>

void shmem_int_p(int *dest, int value, int pe)
{
    (void)dest, (void)value, (void)pe;
}
