/* plain.c: an OpenSHMEM library of one PE, for sanitizers, which see the whole of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void shmem_init(void)
{
}

void shmem_finalize(void)
{
}

int shmem_my_pe(void)
{
    return 0;
}

int shmem_n_pes(void)
{
    return 1;
}

void *shmem_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

void shmem_putmem(void *dest, const void *source, size_t n, int pe)
{
    (void)pe;
    memcpy(dest, source, n);
}

void shmem_putmem_nbi(void *dest, const void *source, size_t n, int pe)
{
    shmem_putmem(dest, source, n, pe);
}

void shmem_long_put_nbi(long *dest, const long *source, size_t n, int pe)
{
    shmem_putmem(dest, source, n * sizeof *dest, pe);
}

void shmem_putmem_signal(void *dest, const void *source, size_t n, uint64_t *signal, uint64_t value,
                         int operation, int pe)
{
    (void)operation;
    shmem_putmem(dest, source, n, pe);
    __atomic_store_n(signal, value, __ATOMIC_RELEASE);
}

void shmem_putmem_signal_nbi(void *dest, const void *source, size_t n, uint64_t *signal,
                             uint64_t value, int operation, int pe)
{
    shmem_putmem_signal(dest, source, n, signal, value, operation, pe);
}

void shmem_long_ibput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,
                      size_t nblocks, int pe)
{
    for (; nblocks > 0; nblocks--, dest += dst, source += sst)
        shmem_putmem(dest, source, bsize * sizeof *dest, pe);
}

void shmem_long_p(long *dest, long value, int pe)
{
    (void)pe;
    __atomic_store_n(dest, value, __ATOMIC_RELEASE);
}

int shmem_long_test(long *word, int comparison, long value)
{
    (void)comparison;
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

void shmem_quiet(void)
{
}

void shmem_fence(void)
{
}
