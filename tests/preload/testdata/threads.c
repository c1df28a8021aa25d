/*
 * threads.c: generations of threads that call and end, so that rings are used again, and one that
 * asks dlsym while others call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

void shmem_init(void);
void shmem_finalize(void);
void shmem_long_p(long *dest, long value, int pe);
int shmem_team_sync(int32_t team);

enum { GENERATIONS = 12, THREADS = 4, CALLS = 3000 };

static void *run(void *number)
{
    static long words[THREADS];
    long me = (long)number;
    for (long i = 0; i < CALLS; i++) {
        shmem_long_p(&words[me], i, 0);
        if (i % 500 == 0)
            shmem_team_sync(0);
        if (i % 1000 == 0 && !dlsym(RTLD_DEFAULT, "shmem_my_pe"))
            return NULL;
    }
    return NULL;
}

int main(void)
{
    shmem_init();
    for (int g = 0; g < GENERATIONS; g++) {
        pthread_t all[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&all[i], NULL, run, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(all[i], NULL);
    }
    shmem_finalize();
    return 0;
}
