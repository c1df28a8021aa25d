/*
 * wire: measures how long the bytes of a collective call take over bare TCP between two hosts, with
 * one connection and one thread at each end, which polls the socket. A library over tcp that uses
 * as few processors cannot be faster.
 *
 *   wire FOLDER MILLISECONDS SIZE...
 *
 * It is started once on each host, and the two processes find each other by a file in the folder.
 * The first one prints lines of four fields with tabs between:
 *
 *   metric  size  value  unit
 *
 * one_way is half of a round in which each end sends size bytes after it has received those of the
 * other. both_ways is a round in which both ends send size bytes at once. one_way_framed and
 * both_ways_framed make the system calls of a library on libfabric's provider tcp, too: a header
 * before the bytes, an epoll_wait before each receive, a first receive into a buffer from which the
 * bytes are copied, and behind more bytes than fit one message another message that says so.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCHES = 9,
    /* Of libfabric's provider tcp and libshmem: bytes of both headers of a message, bytes that fit
     * one message with a signal, and bytes that a receive takes before the header is known. */
    HEADER = 72,
    MESSAGE = 4104,
    PREFETCH = 9000
};

static int first;      /* this process is the first one, which listens and prints */
static int wire;       /* the connection */
static int watch;      /* the epoll descriptor that watches it */
static double budget;  /* nanoseconds for each figure */
static char *out, *in; /* the bytes to send, and those received */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void need(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* Returns the address by which the other host reaches this one. */
static struct sockaddr_in own_address(void)
{
    struct ifaddrs *all;
    struct sockaddr_in found = {.sin_family = AF_UNSPEC};
    need(getifaddrs(&all) == 0, "list addresses");
    for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_LOOPBACK) == 0)
            memcpy(&found, i->ifa_addr, sizeof found);
    freeifaddrs(all);
    need(found.sin_family == AF_INET, "find an address other than loopback");
    found.sin_port = 0;
    return found;
}

/* Connects the two hosts. The first one listens, and writes its address into a file, for which the
 * second one waits. */
static void meet(const char *folder)
{
    char name[4096], made[4096 + 4];
    snprintf(name, sizeof name, "%s/wire.address", folder);
    snprintf(made, sizeof made, "%s.new", name);
    struct sockaddr_in at = own_address();
    socklen_t length = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    need(s >= 0, "open a socket");
    if (first) {
        need(bind(s, (struct sockaddr *)&at, sizeof at) == 0 && listen(s, 1) == 0 &&
                 getsockname(s, (struct sockaddr *)&at, &length) == 0,
             "listen");
        FILE *f = fopen(made, "w");
        need(f != NULL && fwrite(&at, sizeof at, 1, f) == 1 && fclose(f) == 0 &&
                 rename(made, name) == 0,
             made);
        wire = accept4(s, NULL, NULL, 0);
        need(wire >= 0, "accept");
        close(s);
        unlink(name);
    } else {
        FILE *f;
        while ((f = fopen(name, "r")) == NULL)
            usleep(1000);
        need(fread(&at, sizeof at, 1, f) == 1, name);
        fclose(f);
        wire = s;
        need(connect(wire, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    }
    need(setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
    watch = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    need(watch >= 0 && epoll_ctl(watch, EPOLL_CTL_ADD, wire, &event) == 0, "watch the connection");
}

/* Sends and receives so many bytes at the same time. */
static void move(size_t to_send, size_t to_get)
{
    size_t sent = 0, got = 0;
    while (sent < to_send || got < to_get) {
        if (sent < to_send) {
            ssize_t n = send(wire, out + sent, to_send - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            need(n > 0 || (n < 0 && errno == EAGAIN), "send");
            sent += n > 0 ? (size_t)n : 0;
        }
        if (got < to_get) {
            ssize_t n = recv(wire, in + got, to_get - got, MSG_DONTWAIT);
            need(n > 0 || (n < 0 && errno == EAGAIN), "receive");
            got += n > 0 ? (size_t)n : 0;
        }
    }
}

/* Returns how many bytes a transfer of `size` bytes has with the headers of its messages. */
static size_t framed(size_t size)
{
    return size == 0 ? 0 : HEADER + size + (size > MESSAGE ? HEADER : 0);
}

/* Sends what is left of a transfer of `size` bytes, of which *sent bytes are gone, headers counted:
 * the header with the bytes, and then the message behind them. */
static void send_framed(size_t size, size_t *sent)
{
    static char header[HEADER];
    const size_t first_part = HEADER + size;
    struct iovec parts[2];
    struct msghdr m = {.msg_iov = parts};
    size_t at = *sent;
    if (at >= first_part) { /* the second message */
        at -= first_part;
        size = 0;
    }
    if (at < HEADER)
        parts[m.msg_iovlen++] = (struct iovec){header + at, HEADER - at};
    at = at < HEADER ? 0 : at - HEADER;
    if (at < size)
        parts[m.msg_iovlen++] = (struct iovec){out + at, size - at};
    ssize_t n = sendmsg(wire, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    need(n > 0 || (n < 0 && errno == EAGAIN), "send");
    *sent += n > 0 ? (size_t)n : 0;
}

/* Receives what has come of a transfer of `size` bytes, of which *got bytes are here. A receive at
 * the start of a message goes into a buffer; one in its middle goes where the bytes belong. */
static void receive_framed(size_t size, size_t *got)
{
    static char prefetched[PREFETCH];
    struct epoll_event event;
    int ready = epoll_wait(watch, &event, 1, 0);
    need(ready >= 0 || errno == EINTR, "epoll_wait");
    if (ready <= 0)
        return;
    const size_t left = framed(size) - *got, first_part = HEADER + size;
    const int at_start = *got < HEADER || *got >= first_part;
    char *to = at_start ? prefetched : in + (*got - HEADER);
    size_t most = at_start ? PREFETCH : first_part - *got;
    ssize_t n = recv(wire, to, most < left ? most : left, MSG_DONTWAIT);
    need(n > 0 || (n < 0 && errno == EAGAIN), "receive");
    if (n > HEADER && *got == 0)
        memcpy(in, prefetched + HEADER, (size_t)n - HEADER < size ? (size_t)n - HEADER : size);
    *got += n > 0 ? (size_t)n : 0;
}

/* Sends and receives transfers of so many bytes at the same time. */
static void move_framed(size_t to_send, size_t to_get)
{
    const size_t all = framed(to_send), wanted = framed(to_get);
    size_t sent = 0, got = 0;
    while (sent < all || got < wanted) {
        if (sent < all)
            send_framed(to_send, &sent);
        if (got < wanted)
            receive_framed(to_get, &got);
    }
}

/* How bytes are sent and received: move or move_framed. */
typedef void (*mover)(size_t to_send, size_t to_get);

static void one_way(mover by, size_t size)
{
    if (first)
        by(size, 0);
    by(0, size);
    if (!first)
        by(size, 0);
}

static void both_ways(mover by, size_t size)
{
    by(size, size);
}

static double timed(void (*round)(mover, size_t), mover by, size_t size, uint64_t rounds)
{
    double t = now();
    for (uint64_t i = 0; i < rounds; i++)
        round(by, size);
    return (now() - t) / (double)rounds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median over the batches of the mean time of a round, times part. The first host
 * decides how many rounds a batch has. It sends the second one this number and the time by which
 * both end the search: that of a trial with at least a quarter of a batch's share of the budget. */
static void measure(const char *metric, void (*round)(mover, size_t), mover by, size_t size,
                    double part)
{
    double batch[BATCHES];
    uint64_t rounds = 1;
    for (double t = 0; t < budget / BATCHES / 4;) {
        t = timed(round, by, size, rounds) * (double)rounds;
        double fits = budget / BATCHES / t * (double)rounds;
        memcpy(out, &(uint64_t){fits < 1 ? 1 : (uint64_t)fits}, sizeof rounds);
        move(first ? sizeof rounds : 0, first ? 0 : sizeof rounds);
        memcpy(&rounds, first ? out : in, sizeof rounds);
        memcpy(out, &t, sizeof t);
        move(first ? sizeof t : 0, first ? 0 : sizeof t);
        memcpy(&t, first ? out : in, sizeof t);
    }
    for (int i = 0; i < BATCHES; i++)
        batch[i] = timed(round, by, size, rounds);
    qsort(batch, BATCHES, sizeof *batch, compare);
    if (first)
        printf("%s\t%zu\t%.6g\tus\n", metric, size, batch[BATCHES / 2] * part / 1e3);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("SHMEM_LAUNCHER_PE");
    size_t most = 64; /* the size of in and out: room also for the numbers that measure sends */
    if (argc < 4 || rank == NULL) {
        fprintf(stderr, "usage: shmemrun -n 2 --hosts 2 --host-netns wire FOLDER MILLISECONDS "
                        "SIZE...\n");
        return 2;
    }
    first = atoi(rank) == 0;
    budget = atof(argv[2]) * 1e6;
    for (int i = 3; i < argc; i++)
        most = strtoull(argv[i], NULL, 10) > most ? strtoull(argv[i], NULL, 10) : most;
    out = calloc(1, most);
    in = calloc(1, most);
    need(out != NULL && in != NULL, "allocate");
    meet(argv[1]);
    for (int i = 3; i < argc; i++) {
        size_t size = strtoull(argv[i], NULL, 10);
        measure("one_way", one_way, move, size, 0.5);
        measure("both_ways", both_ways, move, size, 1);
        measure("one_way_framed", one_way, move_framed, size, 0.5);
        measure("both_ways_framed", both_ways, move_framed, size, 1);
    }
    fflush(stdout);
    return 0;
}
