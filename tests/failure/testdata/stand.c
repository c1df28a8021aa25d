/*
 * stand.c: PEs that wait for one that does not act.
 *
 * The first argument is the wait: barrier, get, wait, reach or nothing. The second is the awaited
 * PE, or -1, which acts when the file of the third argument exists. With a fourth, the program has
 * its own handler for USR2.
 *
 * reach: PE 0 writes and reads the memory of that PE as soon as there is a file with .stopped
 * behind its name, reports that it has, and then needs that PE's processor.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void own(int number)
{
    (void)number;
    static const char text[] = "the program's own handler\n";
    ssize_t ignored = write(1, text, sizeof text - 1);
    (void)ignored;
}

static void wait_for(const char *file)
{
    while (access(file, F_OK) != 0)
        usleep(10000);
}

enum { REACH = 1 << 20 };

/* Puts to the memory of another PE, and gets it until the bytes are there: a report of arrival,
 * which quiet needs, takes that PE's processor. */
static void reach(unsigned char *memory, int pe)
{
    unsigned char *text = malloc(REACH), *back = calloc(1, REACH);
    if (text == NULL || back == NULL)
        shmem_global_exit(3);
    for (int i = 0; i < REACH; i++)
        text[i] = (unsigned char)(i * 31 + i / 1021);
    shmem_putmem(memory, text, REACH, pe);
    do
        shmem_getmem(back, memory, REACH, pe);
    while (memcmp(text, back, REACH) != 0);
    free(text);
    free(back);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    if (argc > 4)
        signal(SIGUSR2, own);
    shmem_init();
    int me = shmem_my_pe(), late = atoi(argv[2]);
    long *word = shmem_calloc(1, sizeof *word);
    unsigned char *memory = shmem_malloc(REACH);
    if (memory == NULL)
        return 2;
    if (late >= 0)
        (void)shmem_long_g(word, late); /* each PE is connected to it before it stops */
    shmem_barrier_all();
    printf("PE %d is process %d\n", me, getpid());
    fflush(stdout);
    if (me == late) {
        wait_for(argv[3]);
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            shmem_long_p(word, 1, pe);
    }
    if (me != late && strcmp(argv[1], "get") == 0) {
        usleep(500000);
        (void)shmem_long_g(word, late);
    }
    if (me == 0 && strcmp(argv[1], "reach") == 0) {
        char stopped[4096];
        snprintf(stopped, sizeof stopped, "%s.stopped", argv[3]);
        wait_for(stopped);
        reach(memory, late);
        printf("PE 0 has reached the memory of PE %d\n", late);
        fflush(stdout);
        (void)shmem_long_atomic_fetch_add(word, 0, late);
    }
    if (strcmp(argv[1], "wait") == 0)
        shmem_long_wait_until(word, SHMEM_CMP_EQ, 1);
    if (strcmp(argv[1], "nothing") == 0)
        wait_for(argv[3]);
    shmem_barrier_all();
    shmem_finalize();
    printf("PE %d: 1 passed, 0 failed\n", me);
    return 0;
}
