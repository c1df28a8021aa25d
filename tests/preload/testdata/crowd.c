/*
 * crowd.c: a crowd of threads that call once and stay, and then calls of the first thread alone,
 * whose ring is the oldest.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <shmem.h>
#include <stdlib.h>
#include <unistd.h>

static long word;
static sem_t called;

static void *run(void *unused)
{
    shmem_long_p(&word, 1, 0);
    sem_post(&called);
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_attr_t small;
    if (argc != 2 || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    sem_init(&called, 0, 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 65536);
    for (long i = atol(argv[1]); i-- > 0;) {
        pthread_t thread;
        if (pthread_create(&thread, &small, run, NULL) != 0)
            return 1;
    }
    for (long i = atol(argv[1]); i-- > 0;)
        while (sem_wait(&called) != 0)
            ;
    usleep(300000); /* the writer has written the calls of the crowd */
    for (int i = 0; i < 100; i++)
        shmem_long_p(&word, i, 0);
    shmem_finalize();
    return 0;
}
