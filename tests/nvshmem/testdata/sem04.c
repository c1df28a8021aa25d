/* Semantics 4: the heap grows up to the GPU's memory. NVSHMEM_SYMMETRIC_SIZE is no limit,
 * SHMEM_SYMMETRIC_SIZE is one: the argument is the number of blocks of 512 MiB. */
#include <nvshmem.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int blocks = 0, expected = argc > 1 ? atoi(argv[1]) : 0;
    nvshmem_init();
    while (blocks < 64 && nvshmem_malloc((size_t)512 << 20) != NULL)
        blocks++;
    int me = nvshmem_my_pe();
    nvshmem_finalize();
    if (blocks != expected) {
        fprintf(stderr, "%d blocks, and not %d\n", blocks, expected);
        return 1;
    }
    printf("PE %d passed\n", me);
    return 0;
}
