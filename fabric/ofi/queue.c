/*
 * queue.c: posting, polling and waiting, the part of the endpoint that runs
 * for every operation.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 32, /* entries that one read of the completion queue takes */
    /* The longest sleep of a wait if no descriptor shows that there is work. */
    NAP_NS = 500 * 1000
};

/*
 * Returns the kind of the operation with a token. The caller's lock orders accesses to kinds. The
 * accesses are atomic only because ThreadSanitizer does not see that lock where Go takes it.
 */
uint8_t shmemi_ofi_kind(const struct shmemi_ofi *o, uint32_t token)
{
    return __atomic_load_n(&o->kinds[token], __ATOMIC_RELAXED);
}

/* Records the kind of the operation that is posted with a token, and returns its context. */
void *shmemi_ofi_context(struct shmemi_ofi *o, uint32_t token, uint8_t kind)
{
    __atomic_store_n(&o->kinds[token], kind, __ATOMIC_RELAXED);
    return &o->contexts[token];
}

/* Returns the token of an operation's context, or NO_TOKEN for a context of something else. */
uint32_t shmemi_ofi_token(const struct shmemi_ofi *o, const void *ctx)
{
    uintptr_t at = (uintptr_t)ctx - (uintptr_t)o->contexts;
    return at < o->tokens * sizeof(*o->contexts) ? (uint32_t)(at / sizeof(*o->contexts)) : NO_TOKEN;
}

/* Returns 0 if an operation on a PE may be posted, or its error. At the first operation on a PE it
 * begins the connection, or inserts the PE's address into the address vector. For an injected
 * operation, which has no token, the caller passes 0, which is always valid. */
int shmemi_ofi_check(struct shmemi_ofi *o, uint32_t pe, uint32_t token)
{
    if (token >= o->tokens)
        return -FI_EINVAL;
    if (o->links != NULL)
        return pe < o->npeers && o->links->eps[pe] != NULL ? 0 : shmemi_ofi_want(o, pe, o->npeers);
    return pe < o->npeers && o->peers[pe] != FI_ADDR_NOTAVAIL ? 0 : shmemi_ofi_first_contact(o, pe);
}

/* Posts a receive buffer; token names it in its completion. If this package makes the connections,
 * all connections share the buffers. */
int shmemi_ofi_recv(struct shmemi_ofi *o, void *buf, size_t len, uintptr_t desc, uint32_t token)
{
    if (token >= o->tokens)
        return -FI_EINVAL;
    return (int)fi_recv(o->links != NULL ? o->links->receives : o->ep, buf, len, (void *)desc,
                        FI_ADDR_UNSPEC, shmemi_ofi_context(o, token, SHMEMI_COMPLETION_RECV));
}

/* Posts a message to a PE. With inject its bytes are copied before the return, and it has no
 * completion. */
int shmemi_ofi_send(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len, uintptr_t desc,
                    uint32_t token, int inject)
{
    int ret = shmemi_ofi_check(o, pe, inject ? 0 : token);
    if (ret != 0)
        return ret;
    if (inject)
        return (int)fi_inject(shmemi_ofi_ep(o, pe), buf, len, shmemi_ofi_addr(o, pe));
    return (int)fi_send(shmemi_ofi_ep(o, pe), buf, len, (void *)desc, shmemi_ofi_addr(o, pe),
                        shmemi_ofi_context(o, token, SHMEMI_COMPLETION_SEND));
}

/* Posts a receive buffer, for struct fabric.Native. */
int shmemi_ofi_native_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    return shmemi_ofi_recv(self, buf, n, desc, token);
}

/* Sends a message whose bytes are copied at once, for struct fabric.Native. */
int shmemi_ofi_native_inject(void *self, uint32_t pe, const void *buf, size_t n)
{
    return shmemi_ofi_send(self, pe, buf, n, /* desc */ 0, /* token */ 0, /* inject */ 1);
}

/* Posts a write to memory of a PE. With inject its bytes are copied before the return, and it has
 * no completion. */
int shmemi_ofi_write(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len, uintptr_t desc,
                     uint64_t remote, uint64_t key, uint32_t token, int inject)
{
    if (!inject)
        return shmemi_ofi_write_with(o, pe, buf, len, desc, remote, key, token, /* data */ 0,
                                     /* flags */ 0);
    int ret = shmemi_ofi_check(o, pe, /* token */ 0);
    if (ret != 0)
        return ret;
    return (int)fi_inject_write(shmemi_ofi_ep(o, pe), buf, len, shmemi_ofi_addr(o, pe), remote,
                                key);
}

/* Posts a read of memory of a PE; token names it in its completion. Returns 0 or a negative error.
 */
int shmemi_ofi_read(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t len, uintptr_t desc,
                    uint64_t remote, uint64_t key, uint32_t token)
{
    int ret = shmemi_ofi_check(o, pe, token);
    if (ret != 0)
        return ret;
    return (int)fi_read(shmemi_ofi_ep(o, pe), buf, len, (void *)desc, shmemi_ofi_addr(o, pe),
                        remote, key, shmemi_ofi_context(o, token, SHMEMI_COMPLETION_READ));
}

/*
 * Reports whether an error entry without a context of this endpoint may have been caused by another
 * job. Two kinds have not: an overrun queue, which has lost completions, and operations of this
 * endpoint without a context, for example injected ones, which only their flags show.
 */
static int may_be_foreign(const struct fi_cq_err_entry *e)
{
    const uint64_t ours = FI_SEND | FI_WRITE | FI_READ | FI_TRANSMIT;
    const uint64_t theirs = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
    return e->err != FI_EOVERRUN && (!(e->flags & ours) || (e->flags & theirs));
}

/* Stores the text of an error for shmemi_ofi_failure: that of the operation `token` or, for
 * NO_TOKEN, of no known operation, such as that of an event. err is libfabric's number of the
 * error; text and prov_errno are the provider's. The endpoint has memory for the last FAILURES of
 * them. */
void shmemi_ofi_note_error(struct shmemi_ofi *o, uint32_t token, int err, const char *text,
                           int prov_errno)
{
    struct shmemi_ofi_failure *f = &o->failures[o->next_failure++ % FAILURES];
    f->token = token;
    f->err = err;
    snprintf(f->text, sizeof(f->text), "%s (%s says: %s, %d)", fi_strerror(err),
             o->info->fabric_attr->prov_name, text == NULL || text[0] == 0 ? "nothing" : text,
             prov_errno);
}

/* Reads the error at the head of the completion queue. Returns 1 if c is its completion, 0 if
 * there is nothing to report, or a negative error after which the endpoint is unusable. */
int shmemi_ofi_read_error(struct shmemi_ofi *o, struct shmemi_completion *c)
{
    struct fi_cq_err_entry e = {0};
    ssize_t ret = fi_cq_readerr(o->cq, &e, 0);
    if (ret < 0)
        return ret == -FI_EAGAIN ? 0 : (int)ret;
    if (e.err <= 0)
        e.err = FI_EOTHER;
    const uint32_t token = shmemi_ofi_token(o, e.op_context);
    if (shmemi_ofi_region_tested(o, e.op_context, e.err))
        return 0;
    if (o->links != NULL && e.op_context == &o->links->word_sent)
        return 0;
    if (token == NO_TOKEN && may_be_foreign(&e)) {
        o->strangers++;
        return 0;
    }
    shmemi_ofi_events(o, /* now */ 1);
    char words[96] = "";
    const char *text = fi_cq_strerror(o->cq, e.prov_errno, e.err_data, words, sizeof(words) - 1);
    shmemi_ofi_note_error(o, token, e.err, text, e.prov_errno);
    if (token == NO_TOKEN)
        return -e.err;
    *c = (struct shmemi_completion){.token = token,
                                    .kind = shmemi_ofi_kind(o, token),
                                    .err = shmemi_ofi_blame(o, e.err, e.prov_errno)};
    return 1;
}

/* Polls a completion queue that has no completions of immediate data. Returns their number, or a
 * negative error if the queue cannot be read. */
static int poll_plain(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    struct fi_cq_msg_entry e[BATCH];
    int n = 0;
    struct shmemi_ofi_polls polls = {.strangers = o->strangers};
    while (n < max) {
        size_t want = max - n < BATCH ? (size_t)(max - n) : BATCH;
        ssize_t ret = fi_cq_read(o->cq, e, want);
        if (ret == -FI_EAVAIL) {
            if ((ret = shmemi_ofi_read_error(o, &c[n])) < 0)
                return (int)ret;
            n += (int)ret;
        } else {
            for (ssize_t i = 0; i < ret; i++) {
                uint32_t t = shmemi_ofi_token(o, e[i].op_context);
                if (t == NO_TOKEN && shmemi_ofi_region_tested(o, e[i].op_context, 0))
                    continue;
                if (t == NO_TOKEN) {
                    o->strangers++;
                    continue;
                }
                /* The kind was recorded at the post, because not every provider reports it. */
                c[n++] = (struct shmemi_completion){
                    .token = t, .kind = shmemi_ofi_kind(o, t), .len = e[i].len};
            }
        }
        if (ret < 0 && ret != -FI_EAGAIN)
            return n > 0 ? n : (int)ret;
        if (!shmemi_ofi_polls_again(o, &polls, ret == (ssize_t)want))
            break;
    }
    return n;
}

/* Polls the completion queue, or returns SHMEMI_IN_GO if connections have work for Go: then the
 * caller has to call Poll of Go instead. */
int shmemi_ofi_poll(void *self, struct shmemi_completion *c, int max)
{
    struct shmemi_ofi *o = self;
    if (o->links != NULL && shmemi_ofi_needs_go(o->links))
        return SHMEMI_IN_GO;
    return shmemi_ofi_poll_all(o, c, max);
}

/* Polls without regard to connections, so that it never returns SHMEMI_IN_GO. It first returns the
 * completions that were read and stored while a region was tested. */
int shmemi_ofi_poll_all(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    int n = o->region_test != NULL ? shmemi_ofi_kept_completions(o, c, max) : 0;
    return n > 0 ? n : shmemi_ofi_poll_now(o, c, max);
}

/* Polls the completion queue and, if it is empty, the event queue. Events of connections may follow
 * a completion soon, so settled is reset. */
int shmemi_ofi_poll_now(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    int n = o->data ? shmemi_ofi_poll_data(o, c, max) : poll_plain(o, c, max);
    if (o->links != NULL && n != 0)
        __atomic_store_n(&o->links->settled, 0, __ATOMIC_RELAXED);
    return n == 0 && o->eq != NULL && max > 0 ? shmemi_ofi_trouble(o, c) : n;
}

/* Reports whether the completion queue's epoll descriptor has an event other than that of the
 * queue's own signal, which fi_trywait does not clear, so that it stays readable (signal_stays). */
static int ready_within(const struct shmemi_ofi *o)
{
    struct epoll_event events[4];
    int n = epoll_wait(o->queue_fd, events, 4, 0);
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 != o->signal)
            return 1;
    return 0;
}

/* Reports whether a poll is known to have work now. A provider without a descriptor to wait on
 * cannot say that: then the result is 0. */
int shmemi_ofi_ready(void *self)
{
    struct shmemi_ofi *o = self;
    struct fid *fid = &o->cq->fid;
    struct pollfd fd = {.fd = o->queue_fd, .events = POLLIN};
    if (o->unread) {
        o->unread = 0;
        return 1;
    }
    if (o->links != NULL && shmemi_ofi_request_waits(o->links))
        shmemi_ofi_call_go(o->links);
    if (o->links != NULL && __atomic_load_n(&o->links->attention, __ATOMIC_RELAXED))
        return 1;
    if (shmemi_ofi_events(o, /* now */ 1) || shmemi_ofi_kept_completions(o, NULL, 1) > 0)
        return 1;
    if (o->queue_fd < 0)
        return 0;
    if (o->signal_stays)
        return ready_within(o);
    return fi_trywait(o->fabric, &fid, 1) != 0 || poll(&fd, 1, 0) > 0;
}

/* Reports whether the caller may wait: there is nothing to poll. */
int shmemi_ofi_arm(void *self)
{
    return !shmemi_ofi_ready(self);
}

/* Sleeps until poll may have work, for at most ns nanoseconds. Returns 1 if something has arrived
 * or may have, 0 if not, or a negative error. */
int shmemi_ofi_wait(void *self, int64_t ns)
{
    struct shmemi_ofi *o = self;
    struct pollfd fd = {.fd = o->events_fd, .events = POLLIN};
    struct epoll_event event;
    uint64_t wakes;
    int early = 0; /* the sleep is cut short, for events that have no descriptor */
    if (o->links != NULL) {
        const int64_t longest = shmemi_ofi_cap_sleep(o->links, ns);
        early = longest < ns;
        ns = longest;
    }
    if (o->queue_fd < 0 && ns > NAP_NS)
        ns = NAP_NS;
    if (ns < 0)
        ns = 0;
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int n = ppoll(&fd, 1, &t, NULL);
    if (o->links != NULL)
        shmemi_ofi_wait_ended(o->links);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n == 0 || epoll_wait(o->events_fd, &event, 1, 0) <= 0)
        return early;
    if (event.data.fd == o->wake_fd && read(o->wake_fd, &wakes, sizeof(wakes)) < 0 &&
        errno != EAGAIN)
        return -errno;
    return 1;
}

/* Ends the present wait or the next one. */
void shmemi_ofi_wake(void *self)
{
    struct shmemi_ofi *o = self;
    uint64_t one = 1;
    /* The write fails only if the counter is full; then the descriptor is readable already. */
    if (write(o->wake_fd, &one, sizeof(one)) < 0)
        return;
}

/* Returns the text of the last error of a token, or NULL. FAILURES divides 2^32, so that the index
 * stays right when next_failure wraps. */
const char *shmemi_ofi_failure(struct shmemi_ofi *o, uint32_t token)
{
    for (unsigned back = 1; back <= FAILURES; back++) {
        struct shmemi_ofi_failure *f = &o->failures[(o->next_failure - back) % FAILURES];
        if (f->err != 0 && f->token == token)
            return f->text;
    }
    return NULL;
}
