/*
 * contact.c: PE 0 writes to a stopped PE that it has never communicated with.
 *
 * Arguments: that PE, and two files. When the first exists the PE stops itself: the test makes the
 * file when all PEs have passed the barrier, whose messages must not stop with the PE. When the
 * second exists PE 0 puts to the PE. If the PE is lost PE 0 gets an error; else the bytes arrive.
 * After that PE 0 writes to all others. Of eight PEs, each on a host, PE 0 and PE 5 have sent each
 * other nothing in barriers.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* More operations than the provider efa keeps until a peer has answered (R10c). */
enum { PIECE = 4096, PIECES = 40, SIZE = PIECE * PIECES };

static int passed, failed;

static void await(const char *file)
{
    while (access(file, F_OK) != 0)
        usleep(10000);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), victim = atoi(argv[1]);
    unsigned char *there = shmem_calloc(1, SIZE), *from = shmem_malloc(SIZE);
    uint64_t *word = shmem_calloc(1, sizeof *word);
    if (there == NULL || from == NULL || word == NULL)
        shmem_global_exit(3);
    for (int i = 0; i < SIZE; i++)
        from[i] = (unsigned char)(i * 7 + i / 251);
    shmem_barrier_all();
    printf("PE %d is process %d\n", me, getpid());
    fflush(stdout);
    if (me == victim) {
        await(argv[2]);
        raise(SIGSTOP);
    }
    if (me == 0) {
        await(argv[3]);
        printf("PE 0 puts\n");
        fflush(stdout);
        for (int i = 0; i < PIECES; i++)
            shmem_putmem_nbi(there + i * PIECE, from + i * PIECE, PIECE, victim);
        shmem_quiet();
        const int error = shmemx_last_error();
        CHECK(error == SHMEMX_SUCCESS ||
                  (error == SHMEMX_ERROR_PE_LOST && shmemx_last_error_pe() == victim),
              "error %d, about PE %d: %s", error, shmemx_last_error_pe(), shmemx_last_error_text());
        printf("PE 0 has %s PE %d\n", error == SHMEMX_SUCCESS ? "reached" : "lost", victim);
        for (int pe = 0; pe < n; pe++)
            if (error == SHMEMX_SUCCESS || pe != victim)
                shmem_uint64_atomic_set(word, 7, pe);
        shmem_quiet();
    }
    shmem_uint64_wait_until(word, SHMEM_CMP_EQ, 7);
    if (me == victim)
        CHECK(memcmp(there, from, SIZE) == 0, "the bytes are not there");
    shmem_finalize();
    printf("contact: %d passed, %d failed\n", passed + 1, failed);
    return failed != 0;
}
