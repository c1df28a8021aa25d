/*
 * peek.c: see peek.h.
 */
#define _GNU_SOURCE
#include "peek.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

enum { MOST = 64 }; /* NICs */

int shmemi_peek_poll(void *self, struct shmemi_completion *c, int max)
{
    struct shmemi_peek *p = self;
    int came = (int)p->work;
    (void)c;
    (void)max;
    for (uint32_t i = 0; i < p->n; i++) {
        struct shmemi_peek_nic *n = &p->nics[i];
        if (n->count == 0 && n->error == 0) {
            int ret = n->poll(n->self, n->came, SHMEMI_PEEK_BATCH);
            n->count = ret > 0 ? ret : 0;
            n->error = ret < 0 ? ret : 0;
        }
        came |= n->count | n->error;
    }
    return came != 0 ? SHMEMI_IN_GO : 0;
}

int shmemi_peek_arm(void *self)
{
    struct shmemi_peek *p = self;
    if (p->work)
        return 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->nics[i].count != 0 || p->nics[i].error != 0 || !p->nics[i].arm(p->nics[i].self))
            return 0;
    return 1;
}

int shmemi_peek_wait(void *self, int64_t ns)
{
    struct shmemi_peek *p = self;
    struct pollfd fds[MOST];
    uint32_t n = p->n < MOST ? p->n : MOST;
    if (ns < 0)
        ns = 0;
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    for (uint32_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = p->nics[i].fd, .events = POLLIN};
    int ready = ppoll(fds, n, &t, NULL);
    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    int came = 0;
    for (uint32_t i = 0; i < n && ready > 0; i++) {
        if (fds[i].revents == 0)
            continue;
        int ret = p->nics[i].wait(p->nics[i].self, 0);
        if (ret < 0)
            return ret;
        came |= ret;
    }
    return came;
}

void shmemi_peek_wake(void *self)
{
    struct shmemi_peek *p = self;
    p->nics[0].wake(p->nics[0].self);
}
