/*
 * environment.c: reports whether the heap has room for as many bytes as its argument.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    shmem_init();
    void *p = shmem_malloc(n);
    if (shmem_my_pe() == 0)
        printf("%zu bytes: %s\n", n, p != NULL ? "yes" : "no");
    shmem_finalize();
    return 0;
}
