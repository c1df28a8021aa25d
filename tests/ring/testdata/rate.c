/*
 * rate.c PRODUCERS LOG2_SLOTS MILLIONS BURST: the rate at which host threads push into one consumer
 * that decodes each operation and adds its fields, in operations of one slot. BURST 1 is a push
 * each.
 */
#include "consumer.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

static struct shmemi_ring ring;
static uint64_t each;
static uint32_t burst;

static void *produce(void *arg)
{
    uint32_t pe = (uint32_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < each; i += burst) {
        if (burst == 1) {
            struct shmemi_words words = shmemi_pack_p(pe, 0, i, 2, (uint32_t)i);
            shmemi_push(&ring, &words, SHMEMI_SLOTS_P);
            continue;
        }
        struct shmemi_burst b = shmemi_burst_begin(&ring, burst, SHMEMI_SLOTS_P);
        for (uint32_t j = 0; j < burst; j++) {
            struct shmemi_words words = shmemi_pack_p(pe, 0, i + j, 2, (uint32_t)(i + j));
            shmemi_burst_store(&b, j, &words, SHMEMI_SLOTS_P);
        }
        shmemi_burst_end(&b);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    struct timespec from, to;
    if (argc != 5 || atoi(argv[1]) > 64)
        return 2;
    alarm(110);
    uint32_t producers = (uint32_t)atoi(argv[1]);
    ring = ring_new((uint32_t)atoi(argv[2]), 0);
    burst = (uint32_t)atoi(argv[4]);
    each = (uint64_t)atoll(argv[3]) * 1000000 / producers / burst * burst;
    struct consumer c = consumer_of(&ring);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint32_t i = 0; i < producers; i++)
        pthread_create(&threads[i], NULL, produce, (void *)(uintptr_t)i);
    uint64_t sum = 0, values = 0, w[6];
    for (uint64_t had = 0; had < each * producers;) {
        uint64_t n = 0;
        for (; n < 64 && consumer_next(&c, w) != 0; n++) {
            sum += shmemi_get_dest(w) + shmemi_get_pe(w);
            values += shmemi_get_value32(w);
        }
        if (n > 0)
            consumer_publish(&c);
        else
            sched_yield();
        had += n;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    for (uint32_t i = 0; i < producers; i++)
        pthread_join(threads[i], NULL);
    uint64_t want = producers * (each * (each - 1) / 2);
    if (values != want || sum != want + each * (producers * (producers - 1) / 2))
        FAIL("the sums are %" PRIu64 " and %" PRIu64 ", want %" PRIu64, values, sum, want);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    printf("%.1f M/s\n", 1e-6 * (double)(each * producers) / seconds);
    return 0;
}
