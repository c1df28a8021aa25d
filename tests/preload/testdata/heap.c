/*
 * heap.c: where the symmetric blocks of a program lie, from the first one on.
 */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    char *first = shmem_malloc(100), *second = shmem_malloc(5000);
    printf("PE %d: %ld\n", shmem_my_pe(), (long)(second - first));
    shmem_free(second);
    shmem_free(first);
    char *third = shmem_malloc(1 << 20);
    printf("PE %d: %ld\n", shmem_my_pe(), (long)(third - first));
    shmem_free(third);
    shmem_finalize();
    return 0;
}
