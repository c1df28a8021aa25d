/*
 * cq.c: completion queues: reading and waiting.
 *
 * The device's queue holds as many entries as cq_open has granted; the endpoint's file counts them.
 * An entry that finds the queue full is lost, and the queue is of no more use. A program reads the
 * queue of efa-direct directly; efa moves the entries into a queue of its own at each poll.
 *
 * Names such as R8j are rows of rules.tsv, of which a test may switch off each (without).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Makes the queue's FIFO readable, which wakes a thread that waits for the queue. */
static void ring_bell(struct cq *cq)
{
    /* A full FIFO is readable as well. */
    if (cq->bell >= 0 && write(cq->bell, "", 1) < 0 && errno != EAGAIN)
        perror("stub: bell");
}

/* Empties the queue's FIFO, so that it is readable only after the next bell. */
static void drain(struct cq *cq)
{
    char taken[256];
    while (cq->bell >= 0 && read(cq->bell, taken, sizeof taken) == sizeof taken)
        ;
}

/* Adds a completion to a queue, whose memory it enlarges if it is full, and wakes a thread that
 * waits for it (cq->armed). */
void cq_push(struct cq *cq, const struct completion *c)
{
    if (cq->tail - cq->head == cq->capacity) {
        size_t capacity = cq->capacity > 0 ? 2 * cq->capacity : 256;
        struct completion *to = calloc(capacity, sizeof *to);
        if (to == NULL)
            abort();
        for (size_t i = cq->head; i != cq->tail; i++)
            to[i % capacity] = cq->entries[i % cq->capacity];
        free(cq->entries);
        cq->entries = to;
        cq->capacity = capacity;
    }
    cq->entries[cq->tail++ % cq->capacity] = *c;
    if (cq->armed) {
        cq->armed = false;
        ring_bell(cq);
    }
}

/* Returns the entry of the i-th completion of a queue. */
static struct completion *entry(struct cq *cq, size_t i)
{
    return &cq->entries[i % cq->capacity];
}

/* Frees the entry of the device's queue that a completion occupies. */
static void free_queue_entry(struct completion *c)
{
    if (c->counted != NULL)
        wire_free_entries(c->counted, 1);
    c->counted = NULL;
}

/* Does the work of a poll before it reads the queue: carries out operations that are due, and
 * handles what has arrived. The provider efa then moves all entries of the device's queue to this
 * one, which frees them in the device's. */
void cq_progress(struct cq *cq)
{
    struct domain *d = cq->domain;
    rnr_check(d);
    for (struct ep *ep = d->eps; ep != NULL; ep = ep->next)
        if (ep->map != NULL && (ep->tx == cq || ep->rx == cq)) {
            ep_carry(ep, false);
            arrive(ep);
        }
    if (cq->moved < cq->head)
        cq->moved = cq->head;
    for (; d->kind == KIND_EFA && cq->moved != cq->tail; cq->moved++)
        free_queue_entry(entry(cq, cq->moved));
}

/* Reports whether a read has to say that entries were lost. An EFA device does not say it (rule
 * R3g). With the setting overrun_at=N, reads of the process say it from the N-th on, for a test. */
static bool overrun(struct cq *cq)
{
    static long reads;
    long at = setting("overrun_at", 0);
    if (at > 0 && __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) >= at)
        return true;
    if (rule(&cq->domain->fabric->set, cq->domain->kind, R3g))
        return false;
    for (struct ep *ep = cq->domain->eps; ep != NULL; ep = ep->next)
        if (ep->map != NULL && (ep->tx == cq || ep->rx == cq) &&
            atomic_load(&ep->map->w->cq_lost) > 0)
            return true;
    return false;
}

static long strays; /* error entries of no operation that reads have returned so far */

/* Reports whether the next read is to find an error of no operation (the setting stray). */
static bool stray(void)
{
    return __atomic_load_n(&strays, __ATOMIC_RELAXED) < setting("stray", 0);
}

/* Stores a completion as entry i of a reader's buffer, in the format that the queue was opened
 * with. */
static void copy_out(struct cq *cq, const struct completion *c, char *buf, size_t i)
{
    switch (cq->format) {
    case FI_CQ_FORMAT_CONTEXT:
        ((struct fi_cq_entry *)buf)[i] = (struct fi_cq_entry){c->context};
        return;
    case FI_CQ_FORMAT_MSG:
        ((struct fi_cq_msg_entry *)buf)[i] = (struct fi_cq_msg_entry){c->context, c->flags, c->len};
        return;
    case FI_CQ_FORMAT_TAGGED:
        ((struct fi_cq_tagged_entry *)buf)[i] =
            (struct fi_cq_tagged_entry){c->context, c->flags, c->len, NULL, c->data, 0};
        return;
    default:
        ((struct fi_cq_data_entry *)buf)[i] =
            (struct fi_cq_data_entry){c->context, c->flags, c->len, NULL, c->data};
    }
}

/* Implements fi_cq_readfrom. */
static ssize_t readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from)
{
    struct cq *cq = (struct cq *)fid;
    const struct settings *s = &cq->domain->fabric->set;
    ssize_t n = 0;
    if (stray())
        return -FI_EAVAIL;
    /* R8j: a read of no entries makes no progress. */
    if (count == 0 && cq->bell < 0 && rule(s, cq->domain->kind, R8j))
        return -FI_EAGAIN;
    pthread_mutex_lock(&cq->domain->lock);
    cq_progress(cq);
    if (overrun(cq))
        n = -FI_EOVERRUN;
    while (n >= 0 && (size_t)n < count && cq->head != cq->tail) {
        struct completion *c = entry(cq, cq->head);
        /* R8l: reads return -FI_EAVAIL until fi_cq_readerr has removed the error. Without the rule
         * the next read drops it. */
        if (c->err != 0 && c->reported && without(s, cq->domain->kind, R8l)) {
            free_queue_entry(c);
            cq->head++;
            continue;
        }
        if (c->err != 0) {
            c->reported = n == 0;
            break;
        }
        copy_out(cq, c, buf, (size_t)n);
        if (from != NULL)
            from[n] = c->source;
        free_queue_entry(c);
        cq->head++;
        n++;
    }
    if (n == 0 && (count > 0 || cq->head == cq->tail))
        n = cq->head != cq->tail ? -FI_EAVAIL : -FI_EAGAIN;
    /* R8e: the descriptor stays readable until fi_trywait. */
    if (cq->head == cq->tail && without(s, cq->domain->kind, R8e))
        drain(cq);
    pthread_mutex_unlock(&cq->domain->lock);
    return n;
}

/* Implements fi_cq_read. */
static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
    return readfrom(fid, buf, count, NULL);
}

/* Implements fi_cq_readerr. */
static ssize_t readerr(struct fid_cq *fid, struct fi_cq_err_entry *e, uint64_t flags)
{
    struct cq *cq = (struct cq *)fid;
    ssize_t ret = -FI_EAGAIN;
    (void)flags;
    if (stray()) {
        __atomic_add_fetch(&strays, 1, __ATOMIC_RELAXED);
        *e = (struct fi_cq_err_entry){.err = (int)setting("stray_err", FI_EIO),
                                      .flags = (uint64_t)setting("stray_flags", 0)};
        return 1;
    }
    pthread_mutex_lock(&cq->domain->lock);
    if (cq->head != cq->tail && entry(cq, cq->head)->err != 0) {
        struct completion *c = entry(cq, cq->head++);
        *e = (struct fi_cq_err_entry){.op_context = c->context,
                                      .flags = c->flags,
                                      .len = c->len,
                                      .data = c->data,
                                      .err = c->err,
                                      .prov_errno = c->status};
        free_queue_entry(c);
        ret = 1;
    }
    pthread_mutex_unlock(&cq->domain->lock);
    return ret;
}

/* Reports whether a caller may wait for the queue. It may if the queue is empty: then this function
 * arms it, so that the next entry wakes the caller. A test may switch off rule R8d (fi_trywait
 * returns -FI_EAGAIN while entries are queued); then a caller may wait although the queue has
 * entries. */
bool cq_may_wait(struct cq *cq)
{
    struct domain *d = cq->domain;
    bool nothing = false;
    pthread_mutex_lock(&d->lock);
    cq_progress(cq);
    if (cq->head == cq->tail || without(&d->fabric->set, d->kind, R8d)) {
        drain(cq);
        nothing = cq->armed = true;
        for (struct ep *ep = d->eps; ep != NULL; ep = ep->next)
            if (ep->map != NULL && ep->rx == cq) {
                /* A writer puts its record into the ring and then checks armed. This thread sets
                 * armed and then checks the ring, so one of the two sees what the other stored. */
                atomic_store(&ep->map->w->armed, 1);
                if (wire_peek(ep->map->w) != NULL)
                    nothing = false;
            }
    }
    pthread_mutex_unlock(&d->lock);
    return nothing;
}

/* Implements fi_cq_sreadfrom. */
static ssize_t sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from,
                         const void *cond, int timeout)
{
    struct cq *cq = (struct cq *)fid;
    (void)cond;
    for (;;) {
        ssize_t n = readfrom(fid, buf, count, from);
        struct pollfd p = {.fd = cq->bell, .events = POLLIN};
        if (n != -FI_EAGAIN)
            return n;
        if (cq->bell < 0) { /* it polls every millisecond (rules.tsv: R8h) */
            if (timeout == 0)
                return -FI_EAGAIN;
            poll(NULL, 0, 1);
            timeout -= timeout > 0;
        } else if (cq_may_wait(cq) && poll(&p, 1, timeout) <= 0) {
            return -FI_EAGAIN;
        }
    }
}

/* Implements fi_cq_sread. */
static ssize_t sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
    return sreadfrom(fid, buf, count, NULL, cond, timeout);
}

/* Implements fi_cq_signal: ends the wait of a thread. Without a descriptor (bell) there is no wait.
 */
static int cq_signal(struct fid_cq *fid)
{
    struct cq *cq = (struct cq *)fid;
    if (cq->bell < 0)
        return -FI_ENOSYS;
    ring_bell(cq);
    return 0;
}

/* Implements fi_cq_strerror. */
static const char *cq_strerror(struct fid_cq *fid, int status, const void *data, char *buf,
                               size_t len)
{
    const char *text = status_text(((struct cq *)fid)->domain->kind, status);
    (void)data;
    if (buf != NULL && len > 0) {
        strncpy(buf, text, len - 1);
        buf[len - 1] = 0;
    }
    return text;
}

/* Implements fi_control of a queue: FI_GETWAIT alone. */
static int cq_control(struct fid *fid, int command, void *arg)
{
    struct cq *cq = (struct cq *)fid;
    if (command != FI_GETWAIT || cq->bell < 0)
        return -FI_ENOSYS;
    *(int *)arg = cq->bell;
    return 0;
}

/* Implements fi_close for a completion queue; it fails while an endpoint uses the queue. */
static int cq_close(struct fid *fid)
{
    struct cq *cq = (struct cq *)fid;
    struct domain *d = cq->domain;
    pthread_mutex_lock(&d->lock);
    for (struct ep *ep = d->eps; ep != NULL; ep = ep->next)
        if (ep->tx == cq || ep->rx == cq) {
            pthread_mutex_unlock(&d->lock);
            return -FI_EBUSY;
        }
    d->users--;
    pthread_mutex_unlock(&d->lock);
    if (cq->bell >= 0)
        wire_bell_remove(cq->id, cq->bell);
    free(cq->entries);
    free(cq);
    return 0;
}

static struct fi_ops fid_ops = {.size = sizeof fid_ops, .close = cq_close, .control = cq_control};
static struct fi_ops_cq ops = {.size = sizeof ops,
                               .read = cq_read,
                               .readfrom = readfrom,
                               .readerr = readerr,
                               .sread = sread,
                               .sreadfrom = sreadfrom,
                               .signal = cq_signal,
                               .strerror = cq_strerror};

/* Returns how many entries a queue gets for which a program has requested `asked` entries, or a
 * negative error. */
static int64_t granted(const struct domain *d, size_t asked)
{
    const struct settings *s = &d->fabric->set;
    /* Without a request: 1024 entries, the value of rule R3e. The lines below change that for
     * efa. */
    int64_t size = (int64_t)(asked > 0 ? asked : (size_t)rule_value(R3e));
    if (s->provider != EFA)
        return size;
    if (asked == 0 && d->kind == KIND_DIRECT) {
        /* The device has no queue of size 0. R3e and R3f: the provider's default size. */
        size = rule(s, d->kind, R3e)   ? rule_value(R3e)
               : rule(s, d->kind, R3f) ? rule_value(R3f)
                                       : 0;
        if (size == 0)
            return -FI_EINVAL;
    }
    if (rule(s, d->kind, R3d)) { /* R3d: the fewest entries of a queue of efa */
        int64_t least = (int64_t)(d->info->tx_attr->size + d->info->rx_attr->size);
        least = least > rule_value(R3d) ? least : rule_value(R3d);
        /* Only tests have a device that grants less than that (max_cq): no error follows from it.
         */
        least = least < (int64_t)s->max_cq ? least : (int64_t)s->max_cq;
        size = size > least ? size : least;
    }
    int64_t power = 1;
    while (power < size)
        power *= 2;
    /* R3c: the size is rounded up to a power of two. R3a: the device refuses too large a queue. */
    if (rule(s, d->kind, R3c) && (power <= (int64_t)s->max_cq || size > (int64_t)s->max_cq))
        size = power;
    return size > (int64_t)s->max_cq && rule(s, d->kind, R3a) ? -FI_EINVAL : size;
}

/*
 * Returns 1 if a queue has a descriptor to wait for, 0 if it has none, or the error with which it
 * cannot be opened (rules.tsv: R8). efa's shm has no descriptor: with it a queue is refused if the
 * program requests one (R8f), and else opened without one (R8h).
 */
static int waits(const struct domain *d, enum fi_wait_obj wait)
{
    const struct settings *s = &d->fabric->set;
    if (wait == FI_WAIT_NONE)
        return 0;
    /* R8a and R8b: in old versions of efa-direct and efa no queue can be waited for. */
    if (rule(s, d->kind, R8a) || rule(s, d->kind, R8b))
        return -FI_ENOSYS;
    if (wait != FI_WAIT_FD && wait != FI_WAIT_UNSPEC)
        return -FI_ENOSYS;
    /* verbs (G63), efa-direct (R8c) and cxi (R19i) grant descriptors. */
    if (without(s, d->kind, G63) || without(s, d->kind, R8c) || without(s, d->kind, R19i))
        return -FI_ENOSYS;
    if (d->kind == KIND_EFA && shm_of(d)) {
        if (wait == FI_WAIT_FD ? rule(s, d->kind, R8f) : without(s, d->kind, R8h))
            return -FI_ENOSYS;
        return wait == FI_WAIT_FD;
    }
    return without(s, d->kind, R8g) ? -FI_ENOSYS : 1; /* R8g: so does efa without shm */
}

/* Returns the number of entries of a queue of cxi that is opened without a size (rules G38a and
 * G38b, by version; 64 with the rule off); 0 for other providers, which have no default. */
static size_t default_size(const struct domain *d)
{
    const struct settings *s = &d->fabric->set;
    if (without(s, d->kind, G38a) || without(s, d->kind, G38b))
        return 64;
    return rule(s, d->kind, G38a)   ? (size_t)rule_value(G38a)
           : rule(s, d->kind, G38b) ? (size_t)rule_value(G38b)
                                    : 0;
}

/* Implements fi_cq_open. */
int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **fid, void *context)
{
    struct domain *d = (struct domain *)domain;
    int64_t size = granted(d, attr->size > 0 ? attr->size : default_size(d));
    const int bells = waits(d, attr->wait_obj);
    if (bells < 0)
        return bells;
    /* R8k: later versions of efa-direct have no queues in this format. */
    if (attr->format == FI_CQ_FORMAT_TAGGED && rule(&d->fabric->set, d->kind, R8k))
        return -FI_ENOSYS;
    if (size < 0)
        return (int)size;
    struct cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL)
        return -FI_ENOMEM;
    cq->domain = d;
    cq->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_DATA : attr->format;
    cq->size = (uint64_t)size;
    cq->id = wire_draw();
    cq->bell = bells > 0 ? wire_bell(cq->id) : -1;
    if (bells > 0 && cq->bell < 0) {
        free(cq);
        return -errno;
    }
    cq->fid.fid = (struct fid){.fclass = FI_CLASS_CQ, .context = context, .ops = &fid_ops};
    cq->fid.ops = &ops;
    pthread_mutex_lock(&d->lock);
    d->users++;
    pthread_mutex_unlock(&d->lock);
    strays = 0;
    *fid = &cq->fid;
    return 0;
}
