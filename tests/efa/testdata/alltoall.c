/*
 * alltoall.c: every PE puts to every other one, with a signal behind the bytes, and every byte that
 * arrives is compared. The argument is the number of rounds for each size.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16384 };

static const size_t sizes[] = {1, 8, 32, 33, 1000, 4040, 4041, 4104, 4105, MOST};

static unsigned char byte_of(int from, int to, uint64_t step, size_t i)
{
    return (unsigned char)(i * 7 + (i >> 8) * 13 + (size_t)from * 31 + (size_t)to * 17 + step);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    unsigned char *in = shmem_malloc((size_t)n * MOST), *out = malloc((size_t)n * MOST);
    uint64_t *come = shmem_calloc((size_t)n, sizeof *come), step = 0, passed = 0, failed = 0;
    if (in == NULL || out == NULL || come == NULL)
        shmem_global_exit(3);
    for (int round = 0; round < rounds; round++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            step++;
            for (int k = 1; k < n; k++) {
                int to = (me + k) % n;
                unsigned char *bytes = out + (size_t)to * MOST;
                for (size_t i = 0; i < sizes[s]; i++)
                    bytes[i] = byte_of(me, to, step, i);
                shmem_putmem_signal_nbi(in + (size_t)me * MOST, bytes, sizes[s], come + me, step,
                                        SHMEM_SIGNAL_SET, to);
            }
            for (int k = 1; k < n; k++) {
                int from = (me + n - k) % n;
                shmem_signal_wait_until(come + from, SHMEM_CMP_GE, step);
                for (size_t i = 0; i < sizes[s]; i++) {
                    int right = in[(size_t)from * MOST + i] == byte_of(from, me, step, i);
                    passed += right;
                    failed += !right;
                }
            }
            shmem_quiet();
            shmem_barrier_all();
        }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    shmem_finalize();
    return failed != 0;
}
