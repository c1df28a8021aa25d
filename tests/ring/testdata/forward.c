/*
 * forward.c FORWARDERS OPERATIONS HOPS HOW: two processes, each with a ring of four slots into
 * which the other's threads push. Operations from one ring go into the other, until they have made
 * their hops, and both rings are full all the time.
 *
 * HOW threads: consumers pass operations to threads that push. Consumers never wait, so the program
 * ends. HOW blocking: a consumer pushes itself, as the proxy must not do. Then both wait for each
 * other; the program sees that nothing moves and ends with status 3.
 */
#include "consumer.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { LOG2_SLOTS = 2, STUCK = 3 };

/* Shared by both processes. */
static struct {
    uint64_t moved, ended, sum;
} * board;

static struct shmemi_ring ring[2];
static uint64_t operations, hops;
static int mine, blocking;

/* The operations that the consumer has passed on: never full, because it has room for all. */
static uint64_t *handed;
static uint64_t n_handed, n_fetched;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static int all_ended(void)
{
    return __atomic_load_n(&board->ended, __ATOMIC_ACQUIRE) == 2 * operations;
}

/* One to three slots; the number and the hops left go along. */
static void push(uint64_t number, uint64_t left)
{
    struct shmemi_words words;
    int slots = 1 + (int)((number + left) % 3);
    switch (slots) {
    case 1:
        words = shmemi_pack_p(0, 0, number, 2, (uint32_t)left);
        break;
    case 2:
        words = shmemi_pack_p_bytes(0, 0, number, 16, left, number);
        break;
    default:
        words = shmemi_pack_put_signal(0, 0, number, left, number, 0, 0, 0, number, number);
    }
    shmemi_push(&ring[!mine], &words, slots);
}

static void hand_on(uint64_t number, uint64_t left)
{
    __atomic_fetch_add(&board->moved, 1, __ATOMIC_RELAXED);
    if (left == 0) {
        __atomic_fetch_add(&board->sum, number, __ATOMIC_RELAXED);
        __atomic_fetch_add(&board->ended, 1, __ATOMIC_RELEASE);
    } else if (blocking) {
        push(number, left - 1);
    } else {
        pthread_mutex_lock(&mu);
        handed[n_handed++ % (2 * operations)] = number << 32 | left;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&mu);
    }
}

static void *consume(void *arg)
{
    struct consumer c = consumer_of(&ring[mine]);
    uint64_t w[6];
    (void)arg;
    while (!all_ended()) {
        int slots = consumer_next(&c, w);
        if (slots == 0) {
            sched_yield();
            continue;
        }
        uint64_t number = shmemi_get_dest(w), left;
        if (slots == 1)
            left = shmemi_get_value32(w);
        else
            left = shmemi_get_value(w); /* local is at the same place */
        if (slots != 1 + (int)((number + left) % 3) ||
            (slots == 2 && shmemi_get_value2(w) != number) ||
            (slots == 3 && (shmemi_get_signal(w) != number || shmemi_get_signal_at(w) != number)))
            FAIL("operation %" PRIu64 " is torn", number);
        consumer_publish(&c);
        hand_on(number, left);
    }
    pthread_mutex_lock(&mu);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&mu);
    return NULL;
}

static void *forward(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&mu);
        while (n_fetched == n_handed && !all_ended())
            pthread_cond_wait(&more, &mu);
        if (n_fetched == n_handed) {
            pthread_mutex_unlock(&mu);
            return NULL;
        }
        uint64_t what = handed[n_fetched++ % (2 * operations)];
        pthread_mutex_unlock(&mu);
        push(what >> 32, (what & UINT32_MAX) - 1);
    }
}

static void *begin(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < operations; i++)
        push(2 * i + (uint64_t)mine, hops);
    return NULL;
}

/* Ends the process when nothing has moved: after two seconds where that is expected, else after
 * a time longer than any delay of a busy machine. */
static void *watch(void *arg)
{
    uint64_t before = UINT64_MAX;
    for (int still = 0; still < (blocking ? 20 : 400); usleep(100000)) {
        uint64_t now = __atomic_load_n(&board->moved, __ATOMIC_RELAXED);
        still = now == before ? still + 1 : 0;
        before = now;
    }
    printf("nothing moves after %" PRIu64 "\n", before);
    fflush(stdout);
    _exit(STUCK);
    return arg;
}

static void process(uint32_t forwarders)
{
    pthread_t thread[66];
    uint32_t n = 0;
    handed = calloc(2 * operations, sizeof *handed);
    pthread_create(&thread[n++], NULL, consume, NULL);
    pthread_create(&thread[n++], NULL, begin, NULL);
    for (uint32_t i = 0; i < forwarders && !blocking; i++)
        pthread_create(&thread[n++], NULL, forward, NULL);
    pthread_t watcher;
    pthread_create(&watcher, NULL, watch, NULL);
    while (n > 0)
        pthread_join(thread[--n], NULL);
}

int main(int argc, char **argv)
{
    if (argc != 5 || atoi(argv[1]) > 64)
        return 2;
    operations = (uint64_t)atoll(argv[2]);
    hops = (uint64_t)atoll(argv[3]);
    blocking = strcmp(argv[4], "blocking") == 0;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++)
        ring[i] = ring_new(LOG2_SLOTS, (uint64_t)i - 1);
    pid_t child = fork();
    alarm(110);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        mine = 1;
    }
    process((uint32_t)atoi(argv[1]));
    if (child == 0)
        _exit(0);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        FAIL("the other process ended with status %x", (unsigned)status);
    uint64_t want = 2 * operations * (2 * operations - 1) / 2;
    if (board->sum != want || board->moved != 2 * operations * (hops + 1))
        FAIL("%" PRIu64 " moves, sum %" PRIu64 ", want %" PRIu64, board->moved, board->sum, want);
    printf("%" PRIu64 " moves\n", board->moved);
    return 0;
}
