/* threads.c: threads that put, test and complete at the same time, each in memory of its own. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void shmem_init(void);
void shmem_finalize(void);
void shmem_long_put_nbi(long *dest, const long *source, size_t n, int pe);
void shmem_putmem_signal_nbi(void *dest, const void *source, size_t n, uint64_t *signal,
                             uint64_t value, int operation, int pe);
void shmem_long_ibput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                      size_t nblocks, int pe);
void shmem_long_p(long *dest, long value, int pe);
int shmem_long_test(long *word, int comparison, long value);
void shmem_quiet(void);
void shmem_fence(void);

enum { THREADS = 4, ROUNDS = 300, WORDS = 32 };

static long box[THREADS][WORDS], flag[THREADS], second[THREADS][WORDS], apart[THREADS][2 * WORDS];
static uint64_t signals[THREADS];
static int wrong[THREADS];

static void *run(void *number)
{
    long me = (long)number, source[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            source[i] = round + i;
        shmem_long_put_nbi(box[me], source, WORDS, 0);
        shmem_putmem_signal_nbi(second[me], source, sizeof source, &signals[me], (uint64_t)round, 0,
                                0);
        shmem_long_ibput(apart[me], source, 4, 2, 2, WORDS / 2, 0);
        shmem_fence();
        shmem_long_p(&flag[me], round, 0);
        shmem_quiet();
        wrong[me] += !shmem_long_test(&flag[me], 0, round) || box[me][7] != round + 7 ||
                     second[me][7] != round + 7 || signals[me] != (uint64_t)round ||
                     apart[me][13] != round + 7 || apart[me][14] != 0;
    }
    return NULL;
}

int main(void)
{
    pthread_t all[THREADS];
    int sum = 0;
    shmem_init();
    for (long i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i], NULL);
        sum += wrong[i];
    }
    shmem_finalize();
    printf("wrong %d\n", sum);
    return 0;
}
