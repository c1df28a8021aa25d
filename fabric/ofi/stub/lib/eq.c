/*
 * eq.c: event queues. The provider reports errors there that belong to no operation of the caller,
 * and ends the process where there is none (rules.tsv: R9).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

/* Implements fi_eq_read: the queue has errors only, which fi_eq_readerr reads. */
static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
    struct eq *q = (struct eq *)fid;
    (void)event, (void)buf, (void)len, (void)flags;
    pthread_mutex_lock(&q->lock);
    ssize_t ret = q->n > 0 ? -FI_EAVAIL : -FI_EAGAIN;
    pthread_mutex_unlock(&q->lock);
    return ret;
}

/* Implements fi_eq_sread, without waiting. */
static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
                        uint64_t flags)
{
    (void)timeout;
    return eq_read(fid, event, buf, len, flags);
}

/* Implements fi_eq_readerr: removes the oldest error and copies it to e. */
static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *e, uint64_t flags)
{
    struct eq *q = (struct eq *)fid;
    (void)flags;
    ssize_t ret = -FI_EAGAIN;
    pthread_mutex_lock(&q->lock);
    if (q->n > 0) {
        *e = q->errors[0];
        memmove(q->errors, q->errors + 1, --q->n * sizeof *e);
        ret = sizeof *e;
    }
    pthread_mutex_unlock(&q->lock);
    return ret;
}

/* Implements fi_eq_strerror. */
static const char *eq_strerror(struct fid_eq *fid, int status, const void *data, char *buf,
                               size_t len)
{
    (void)fid, (void)data;
    const char *text = status_text(KIND_EFA, status);
    if (buf != NULL && len > 0) {
        strncpy(buf, text, len - 1);
        buf[len - 1] = 0;
    }
    return text;
}

/* Closes an event queue. */
static int eq_close(struct fid *fid)
{
    struct eq *q = (struct eq *)fid;
    free(q->errors);
    free(q);
    return 0;
}

static struct fi_ops fid_ops = {.size = sizeof fid_ops, .close = eq_close};
static struct fi_ops_eq ops = {.size = sizeof ops,
                               .read = eq_read,
                               .readerr = eq_readerr,
                               .sread = eq_sread,
                               .strerror = eq_strerror};

/* Implements fi_eq_open, for queues without a wait object. */
int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
{
    (void)fabric;
    if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)
        return -FI_ENOSYS;
    struct eq *q = calloc(1, sizeof *q);
    if (q == NULL)
        return -FI_ENOMEM;
    pthread_mutex_init(&q->lock, NULL);
    q->fid.fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &fid_ops};
    q->fid.ops = &ops;
    *eq = &q->fid;
    return 0;
}

/* Reports an error that belongs to no operation to the endpoint's event queue (rule R9b). Without
 * an event queue efa ends the process (rule R9a). */
void eq_error(struct ep *ep, int err, int status)
{
    const struct settings *s = &ep->domain->fabric->set;
    struct eq *q = ep->eq;
    if (q == NULL) {
        if (rule(s, ep->domain->kind, R9a))
            die(R9a, "%s (%d) without an event queue: %s", fi_strerror(err), err,
                status_text(ep->domain->kind, status));
        return;
    }
    if (!rule(s, ep->domain->kind, R9b))
        return;
    pthread_mutex_lock(&q->lock);
    if (q->n == q->capacity) {
        q->capacity = q->capacity ? 2 * q->capacity : 64;
        q->errors = realloc(q->errors, q->capacity * sizeof *q->errors);
        if (q->errors == NULL)
            abort();
    }
    q->errors[q->n++] =
        (struct fi_eq_err_entry){.fid = &ep->fid.fid, .err = err, .prov_errno = status};
    pthread_mutex_unlock(&q->lock);
}
