/*
 * woken: the CPU time that a put costs its target PE when the target's program computes.
 *
 * Each 500 us PE 0 puts 8 bytes with a signal to PE 1, which computes and makes no call: each put
 * wakes the thread that serves the network there. PE 1 measures the CPU time of all threads of its
 * process except the one that computes. For comparison, the same without the library: PE 0 writes
 * 8 bytes into a TCP connection, and a thread of PE 1 waits for them by epoll, reads them and
 * writes 8 bytes back. Both PEs are on one host.
 *
 *   woken [puts]        by default 2000
 *
 * Output, from PE 0, tab-separated:   metric  size  value  unit
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { GAP = 500 }; /* microseconds between puts, the same as in cmd/internal/replay */

static double microseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The CPU time in us of the process's other threads, which do not compute. */
static double others(void)
{
    return microseconds(CLOCK_PROCESS_CPUTIME_ID) - microseconds(CLOCK_THREAD_CPUTIME_ID);
}

/* Sleeps until the next put is due. */
static void pause_until(double next)
{
    for (double left; (left = next - microseconds(CLOCK_MONOTONIC)) > 0;) {
        struct timespec pause = {.tv_nsec = (long)(left * 1e3)};
        nanosleep(&pause, NULL);
    }
}

/* Puts the numbers from 1 to puts to a word of PE 1, each with its signal, when they are due. */
static void put(long puts, uint64_t *word, uint64_t *signal)
{
    double next = microseconds(CLOCK_MONOTONIC);
    for (long i = 1; i <= puts; i++) {
        pause_until(next += GAP);
        uint64_t value = (uint64_t)i;
        shmem_putmem_signal(word, &value, sizeof value, signal, value, SHMEM_SIGNAL_SET, 1);
        shmem_quiet();
    }
}

/* Computes until a word has a value, and returns the CPU time of the other threads for each put. */
static double compute(const uint64_t *word, long puts)
{
    double before = others();
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < (uint64_t)puts)
        for (volatile int i = 0; i < 1000; i++)
            continue;
    return (others() - before) / (double)puts;
}

/* What the thread that waits by epoll has: a connection, and how many words it has read. */
struct bare {
    int socket;
    uint64_t words;
};

/* Writes back each word that it reads from a connection, and counts it, until the other side ends
 * the connection. If it cannot wait by epoll it ends the job, because compute waits for the words.
 */
static void *wait_by_epoll(void *argument)
{
    struct bare *b = argument;
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t word;
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, b->socket, &event) != 0)
        shmem_global_exit(3);
    while (epoll_wait(epoll, &event, 1, -1) == 1 &&
           read(b->socket, &word, sizeof word) == sizeof word &&
           write(b->socket, &word, sizeof word) == sizeof word)
        __atomic_store_n(&b->words, word, __ATOMIC_RELEASE);
    close(epoll);
    return NULL;
}

/* Returns a TCP connection between the PEs over loopback: PE 1 listens, and puts its port into PE
 * 0's word. -1: they cannot connect, for example in two network namespaces. */
static int connect_bare(int me, uint64_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, connection = -1;
    if (me == 1) {
        uint64_t number = 0;
        if (bind(s, (struct sockaddr *)&at, sizeof at) == 0 && listen(s, 1) == 0 &&
            getsockname(s, (struct sockaddr *)&at, &size) == 0)
            number = ntohs(at.sin_port);
        shmem_putmem(port, &number, sizeof number, 0);
        shmem_barrier_all();
        struct pollfd come = {.fd = s, .events = POLLIN};
        connection = number != 0 && poll(&come, 1, 2000) == 1 ? accept(s, NULL, NULL) : -1;
        close(s);
    } else {
        shmem_barrier_all();
        at.sin_port = htons((uint16_t)*port);
        if (*port != 0 && connect(s, (struct sockaddr *)&at, sizeof at) == 0)
            connection = s;
        else
            close(s);
    }
    if (connection >= 0)
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return connection;
}

/* Measures the CPU time of writes into a TCP connection, without the library. Returns on PE 1 the
 * CPU time in us for each write; below 0, as on PE 0: it was not measured. */
static double bare(int me, long puts, uint64_t *port)
{
    struct bare b = {connect_bare(me, port), 0};
    double each = -1;
    if (b.socket < 0)
        return each;
    if (me == 0) {
        double next = microseconds(CLOCK_MONOTONIC);
        for (uint64_t i = 1, back = 0; i <= (uint64_t)puts; i++) {
            pause_until(next += GAP);
            if (write(b.socket, &i, sizeof i) != sizeof i ||
                read(b.socket, &back, sizeof back) != sizeof back)
                shmem_global_exit(3);
        }
        shutdown(b.socket, SHUT_RDWR);
    } else {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_by_epoll, &b) != 0)
            shmem_global_exit(3);
        each = compute(&b.words, puts);
        pthread_join(thread, NULL);
    }
    close(b.socket);
    return each;
}

int main(int argc, char **argv)
{
    long puts = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    shmem_init();
    int me = shmem_my_pe();
    uint64_t *words = shmem_calloc(3, sizeof *words);
    double *each = shmem_calloc(2, sizeof *each);
    if (words == NULL || each == NULL || puts < 1 || shmem_n_pes() != 2)
        shmem_global_exit(2);
    shmem_barrier_all();
    if (me == 0)
        put(puts, words, words + 1);
    else
        each[0] = compute(words + 1, puts);
    shmem_barrier_all();
    each[1] = bare(me, puts, words + 2);
    if (me == 1)
        shmem_putmem(each, each, 2 * sizeof *each, 0);
    shmem_barrier_all();
    if (me == 0) {
        printf("put_signal_woken_cpu\t8\t%.3f\tus\n", each[0]);
        if (each[1] >= 0)
            printf("epoll_woken_cpu\t8\t%.3f\tus\n", each[1]);
    }
    shmem_finalize();
}
