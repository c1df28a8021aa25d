/* heap.c: how much fits on the heap. */
#include "program.h"

int main(void)
{
    begin();
    void *small = shmem_malloc(3 << 20), *large = shmem_malloc(64 << 20);
    say("3 MiB: %d, 64 MiB: %d", small != NULL, large != NULL);
    shmem_finalize();
    return 0;
}
