/*
 * unseen.c: a call by a second name, and stores through an address: the shim sees neither.
 */
#include <pshmem.h>
#include <shmem.h>

int main(void)
{
    static long word;
    shmem_init();
    long *there = shmem_ptr(&word, 1 - shmem_my_pe());
    if (there)
        *there = 1;
    pshmem_quiet();
    shmem_finalize();
    return 0;
}
