/* extension.c: a module of Python, or a plugin, that was linked with this library. */
#include <nvshmem.h>

#include <stdlib.h>

int extension_works(void);

/* 1: a word that was put is there. */
int extension_works(void)
{
    nvshmem_init();
    int *word = nvshmem_calloc(1, sizeof *word);
    if (word == NULL)
        abort();
    nvshmem_int_p(word, 1, nvshmem_my_pe());
    nvshmem_quiet();
    int works = *word == 1 && nvshmem_n_pes() == 1;
    nvshmem_free(word);
    nvshmem_finalize();
    return works;
}
