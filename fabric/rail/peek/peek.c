/*
 * peek.c: polls several NICs for callers in C, delivers messages and sends small ones (peek.h).
 */
#define _GNU_SOURCE
#include "peek.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum { MAX_NICS = 64 }; /* maxNICs of fabric/rail */

/* A NIC that had a completion is polled first at the next poll, at most MAX_STREAK times in a
 * row. */
enum { MAX_STREAK = 8 };

/* Reports whether C may deliver a completion: it is of a message without error, in one of the NIC's
 * receive buffers, and the caller has posted a buffer that is large enough. */
static int is_deliverable(const struct shmemi_peek *p, const struct shmemi_completion *c)
{
    const struct shmemi_peek_state *s = &p->s;
    return c->kind == SHMEMI_COMPLETION_RECV && c->err == 0 &&
           c->token - p->first < SHMEMI_PEEK_RECEIPTS && s->count > 0 &&
           c->len <= s->posted[s->head].n;
}

/* Copies a message to the caller's next buffer, stores that buffer's completion in *to, and posts
 * the NIC's receive buffer again. If the NIC's receive queue is full, it marks the buffer in owed,
 * and Go posts it later. */
static void deliver(struct shmemi_peek *p, struct shmemi_peek_nic *n,
                    const struct shmemi_completion *c, struct shmemi_completion *to)
{
    struct shmemi_peek_state *s = &p->s;
    const struct shmemi_peek_buffer *b = &s->posted[s->head];
    uint32_t slot = c->token - p->first;
    char *at = n->buffers + (size_t)slot * p->size;
    memcpy(b->at, at, c->len);
    *to = (struct shmemi_completion){
        .token = b->token, .kind = SHMEMI_COMPLETION_RECV, .len = c->len};
    s->head = s->head + 1 == s->room ? 0 : s->head + 1;
    s->count--;
    n->in += c->len;
    if (n->recv(n->self, at, p->size, n->desc, c->token) != 0) {
        n->owed |= 1u << slot;
        s->owed = s->work = 1;
    }
}

/* Polls the NICs one after the other until one has messages that can be delivered. Returns the
 * number of completions in c. Without any it returns SHMEMI_IN_GO if Go has something to handle,
 * otherwise 0. With max 0 it delivers nothing, and c may be NULL. */
int shmemi_peek_poll(void *self, struct shmemi_completion *c, int max)
{
    struct shmemi_peek *p = self;
    int in_go = (int)p->s.work, k = 0;
    /* Messages that Go has kept (arrived) are delivered before later ones. */
    const int direct = p->size > 0 && !p->s.work && !p->s.arrived;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t at = p->first_polled + i < p->n ? p->first_polled + i : p->first_polled + i - p->n;
        struct shmemi_peek_nic *n = &p->nics[at];
        if (n->count == 0 && n->error == 0) {
            int ret = n->poll(n->self, n->kept, SHMEMI_PEEK_BATCH);
            n->count = ret > 0 ? ret : 0;
            n->error = ret < 0 ? ret : 0;
        }
        int delivered = 0;
        while (direct && delivered < n->count && k < max && is_deliverable(p, &n->kept[delivered]))
            deliver(p, n, &n->kept[delivered++], &c[k++]);
        if (delivered > 0) {
            n->count -= delivered;
            memmove(n->kept, n->kept + delivered, (size_t)n->count * sizeof *n->kept);
            /* The same NIC probably has more completions, and a poll of a NIC takes most of a
             * microsecond over tcp. */
            p->streak = at == p->first_polled ? p->streak + 1 : 0;
            p->first_polled = at;
            if (p->streak >= MAX_STREAK) {
                p->first_polled = at + 1 < p->n ? at + 1 : 0;
                p->streak = 0;
            }
            return k;
        }
        in_go |= n->count | n->error;
    }
    return in_go != 0 ? SHMEMI_IN_GO : 0;
}

/* Posts a receive buffer of the caller. Returns 0, or -1 where Go has to do it. Messages are copied
 * into the buffer, so desc is not needed. */
int shmemi_peek_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    struct shmemi_peek *p = self;
    struct shmemi_peek_state *s = &p->s;
    (void)desc;
    if (p->size == 0 || n > p->size || s->count == s->room || s->arrived)
        return -1;
    uint32_t at = s->head + s->count < s->room ? s->head + s->count : s->head + s->count - s->room;
    s->posted[at] = (struct shmemi_peek_buffer){.at = buf, .n = n, .token = token};
    s->count++;
    return 0;
}

/* Sends a small message by the NIC that the cursor selects. After SHMEMI_PEEK_GROUP messages, or
 * SHMEMI_PEEK_GROUP_BYTES bytes, the cursor moves to the next NIC. Returns 0 or the result of the
 * NIC's inject; -1 if the caller has to send by Go, which finds the error. */
int shmemi_peek_inject(void *self, uint32_t pe, const void *buf, size_t n)
{
    struct shmemi_peek *p = self;
    struct shmemi_peek_state *s = &p->s;
    if (pe >= p->n_pes || p->rails[pe] == 0)
        return -1;
    uint32_t l = (uint32_t)(s->cursor % p->n);
    /* The pair that remote of fabric/rail returns as long as no pair to the peer has failed. */
    uint32_t r = (uint32_t)((l + s->cursor / p->n * p->n) % p->rails[pe]);
    struct shmemi_peek_nic *nic = &p->nics[l];
    int ret = nic->inject(nic->self, pe * p->widest + r, buf, n);
    if (ret != 0)
        return ret;
    nic->ops++;
    nic->out += n;
    s->grouped++;
    s->grouped_bytes += n;
    if (s->grouped >= SHMEMI_PEEK_GROUP || s->grouped_bytes >= SHMEMI_PEEK_GROUP_BYTES) {
        s->cursor++;
        s->grouped = 0;
        s->grouped_bytes = 0;
    }
    return 0;
}

/* Prepares a shmemi_peek_wait. Returns 1 if the caller may wait: anything that arrives from now on
 * ends the wait. Returns 0 if a NIC has a completion or an error, or Go has something for the
 * caller. */
int shmemi_peek_arm(void *self)
{
    struct shmemi_peek *p = self;
    if (p->s.work)
        return 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->nics[i].count != 0 || p->nics[i].error != 0 || !p->nics[i].arm(p->nics[i].self))
            return 0;
    return 1;
}

/* Sleeps on the descriptors of all NICs for ns at most. Returns 1 if something came, 0 if not, or a
 * negative error number. */
int shmemi_peek_wait(void *self, int64_t ns)
{
    struct shmemi_peek *p = self;
    struct pollfd fds[MAX_NICS];
    uint32_t n = p->n < MAX_NICS ? p->n : MAX_NICS;
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

/* Ends the wait, by the first NIC. */
void shmemi_peek_wake(void *self)
{
    struct shmemi_peek *p = self;
    p->nics[0].wake(p->nics[0].self);
}
