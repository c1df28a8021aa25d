/*
 * panics.c: PE 1 of two, in which the library panics. The argument says what the program does
 * meanwhile: sleep, when only the library's own threads run, or call, one call after another.
 */
#include <shmem.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    shmem_init();
    long *word = shmem_calloc(1, sizeof *word);
    while (shmem_my_pe() == 1 && argc > 1 && strcmp(argv[1], "call") == 0)
        shmem_long_atomic_fetch(word, 0);
    for (;;)
        pause();
}
