/*
 * process.c FILE LOG2_SLOTS RINGS RING WHAT COUNT THREADS: producers of rings
 * that lie in a file, one after the other. The consumer is the Go of
 * ring_unsafe_test.go. WHAT:
 *   push each thread pushes COUNT operations of one to three slots, and quiets die takes positions
 *   for COUNT puts, stores the first and the third, reports
 *          this and waits to be killed
 *   wait   each thread pushes until the ring is stopped
 */
#include "consumer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

static struct shmemi_ring rings[8];
static uint32_t n_rings, mine;
static uint64_t count;

/* Each field of each operation follows from the thread and its sequence. */
static void push(uint32_t thread, uint64_t i)
{
    struct shmemi_words words;
    int slots = 1 + (int)((thread + i) % 3);
    if (slots == 1)
        words = shmemi_pack_amo(thread, 0, i, 3, 2, ~(uint32_t)i);
    else if (slots == 2)
        words = shmemi_pack_p_bytes(thread, 0, i, 16, ~i, i << 40);
    else
        words = shmemi_pack_put_signal(thread, 0, i, ~i, i, 0, 0, 5, ~i, i);
    shmemi_push(&rings[mine], &words, slots);
}

static void *push_all(void *arg)
{
    for (uint64_t i = 0; i < count; i++) {
        push((uint32_t)(uintptr_t)arg, i);
        if (i % 4096 == 4095 && shmemi_ring_quiet(&rings[mine], 1, 0, 0) != 0)
            FAIL("quiet: stopped");
    }
    return NULL;
}

static void *push_until_stopped(void *arg)
{
    for (uint64_t i = 0; !shmemi_load_far32(&line_of(&rings[mine])->stopped); i++)
        push((uint32_t)(uintptr_t)arg, i);
    return NULL;
}

static void take_and_wait(void)
{
    struct shmemi_burst b = shmemi_burst_begin(&rings[mine], (uint32_t)count, SHMEMI_SLOTS_PUT);
    for (uint32_t i = 0; i <= 2; i += 2) {
        struct shmemi_words words = shmemi_pack_put(i, 0, i, i, i, 0, 0);
        shmemi_burst_store(&b, i, &words, SHMEMI_SLOTS_PUT);
    }
    printf("taken\n");
    fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    if (argc != 8)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(110);
    uint32_t log2_slots = (uint32_t)atoi(argv[2]), threads = (uint32_t)atoi(argv[7]);
    n_rings = (uint32_t)atoi(argv[3]);
    mine = (uint32_t)atoi(argv[4]);
    count = (uint64_t)atoll(argv[6]);
    int fd = open(argv[1], O_RDWR);
    size_t size = ring_bytes(log2_slots);
    char *base = mmap(NULL, n_rings * size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED || mine >= n_rings || n_rings > 8 || threads > 64)
        return 2;
    for (uint32_t i = 0; i < n_rings; i++)
        rings[i] = ring_over(base + i * size, log2_slots);
    if (strcmp(argv[5], "die") == 0) {
        take_and_wait();
        return 2;
    }
    pthread_t thread[64];
    void *(*what)(void *) = strcmp(argv[5], "wait") == 0 ? push_until_stopped : push_all;
    for (uint32_t i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, what, (void *)(uintptr_t)i);
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("ended\n");
    return 0;
}
