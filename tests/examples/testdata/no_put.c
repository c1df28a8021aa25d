/* no_put.c: linked into a program, this takes the place of libshmem.so's own
 * shmem_int_p, and puts nothing anywhere. */
#include <shmem.h>

void shmem_int_p(int *dest, int value, int pe)
{
    (void)dest, (void)value, (void)pe;
}
