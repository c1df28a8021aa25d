/*
 * writers.c: each way in which a thread stores what others wait for and then looks for sleepers.
 * TestWriters reads what the compiler makes of it.
 */
#include "notification.h"
#include "wake.h"

void put(void *dest, const void *source, size_t n, int pe)
{
    shmemi_put(SHMEM_CTX_DEFAULT, dest, source, n, pe, "put");
}

void put_word(void *dest, const void *source, int pe)
{
    shmemi_put(SHMEM_CTX_DEFAULT, dest, source, 8, pe, "put");
}

void put_word_nbi(void *dest, const void *source, int pe)
{
    shmemi_put_nbi(SHMEM_CTX_DEFAULT, dest, source, 8, pe, "put_nbi");
}

void p(void *dest, int value, int pe)
{
    shmemi_p(SHMEM_CTX_DEFAULT, dest, &value, sizeof value, pe, "p");
}

void set(void *dest, uint64_t value, int pe)
{
    shmemi_amo64(SHMEM_CTX_DEFAULT, SHMEMI_AMO_SET, dest, value, 0, pe, "set");
}

void fetch_add(void *fetch, void *dest, uint32_t value, int pe)
{
    shmemi_amo32_nbi(SHMEM_CTX_DEFAULT, SHMEMI_AMO_FETCH_ADD, fetch, dest, value, 0, pe, "add");
}

void put_signal(void *dest, const void *source, uint64_t *signal, int pe)
{
    shmemi_put_signal(SHMEM_CTX_DEFAULT, dest, source, 8, signal, 1, SHMEM_SIGNAL_SET, pe, false,
                      "put_signal");
}

void put_notify(void *dest, const void *source, int pe)
{
    shmemi_put_notify(SHMEM_CTX_DEFAULT, dest, source, 8, 3, pe, false, "put_notify");
}

/* As barrier.c, and lines.c. */
void release(struct shmemi_ctl *peer, uint32_t epoch)
{
    __atomic_store_n(&peer->released, epoch, __ATOMIC_RELEASE);
    shmemi_notify_at(peer);
}

/* As the engine, which has applied a message. */
void apply(uint64_t *at, uint64_t value, struct shmemi_ctl *mine)
{
    *at = value;
    shmemi_wake_sleepers(&mine->sleepers, &mine->wakes);
}
