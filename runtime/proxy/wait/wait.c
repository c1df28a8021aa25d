#include "wait.h"

#include <time.h>

/* Reports whether one of the rings has work: bit 63 of its next word has the value of the present
 * lap. */
static int pushed(const struct shmemi_ring_sleep *l)
{
    for (int i = 0; i < l->count; i++)
        if (((__atomic_load_n(l->words[i], __ATOMIC_ACQUIRE) ^ l->laps[i]) >> 63) == 0)
            return 1;
    return 0;
}

/* Sleeps for ns. Returns 0, as a provider's wait function does when nothing has arrived. */
static int nap(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL); /* a signal only shortens it */
    return 0;
}

/* Sleeps, and polls the rings every l->step ns. Returns 1 if there may be work, 0 if there is none
 * after l->total ns, or the negative error of the provider's wait function. */
int shmemi_ring_sleep(const struct shmemi_ring_sleep *l)
{
    for (int64_t slept = 0; slept < l->total; slept += l->step) {
        if (pushed(l))
            return 1;
        int r = l->wait ? l->wait(l->self, l->step) : nap(l->step);
        if (r != 0)
            return r;
    }
    return 0;
}
