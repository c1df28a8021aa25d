/*
 * many.c: threads that make many calls each, of one PE: many THREADS CALLS. Between two thousand
 * calls a thread sleeps for as long as its third argument says, in microseconds.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdlib.h>
#include <unistd.h>

static long words[64], calls;
static int nap;

static void *run(void *number)
{
    long *word = &words[(long)number];
    for (long i = 0; i < calls; i++) {
        shmem_long_p(word, i, 0);
        if (nap && i % 2000 == 1999)
            usleep((useconds_t)nap);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    long threads = argc > 1 ? atol(argv[1]) : 1;
    calls = argc > 2 ? atol(argv[2]) : 1;
    nap = argc > 3 ? atoi(argv[3]) : 0;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    pthread_t all[64];
    for (long i = 1; i < threads; i++)
        pthread_create(&all[i], NULL, run, (void *)i);
    run((void *)0);
    for (long i = 1; i < threads; i++)
        pthread_join(all[i], NULL);
    shmem_finalize();
    return 0;
}
