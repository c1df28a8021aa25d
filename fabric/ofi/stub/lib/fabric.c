/*
 * fabric.c: libfabric's entry points except fi_getinfo, and the fabric object.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Returns the time of the monotonic clock, in nanoseconds. */
uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Implements fi_version: the version that the settings select. */
uint32_t fi_version(void)
{
    struct settings s;
    settings_read(&s);
    return FI_VERSION(s.release >> 8, s.release & 255);
}

/* Returns the text of an error: one of libfabric's own, from 256 on, or one of the C library. */
const char *fi_strerror(int number)
{
    static const char *const own[] = {
        [FI_EOTHER - 256] = "Unspecified error",
        [FI_ETOOSMALL - 256] = "Provided buffer is too small",
        [FI_EOPBADSTATE - 256] = "Operation not permitted in current state",
        [FI_EAVAIL - 256] = "Error available",
        [FI_EBADFLAGS - 256] = "Flags not supported",
        [FI_ENOEQ - 256] = "Missing or unavailable event queue",
        [FI_EDOMAIN - 256] = "Invalid resource domain",
        [FI_ENOCQ - 256] = "Missing or unavailable completion queue",
        [FI_ECRC - 256] = "CRC error",
        [FI_ETRUNC - 256] = "Truncation error",
        [FI_ENOKEY - 256] = "Required key not available",
        [FI_ENOAV - 256] = "Missing or unavailable address vector",
        [FI_EOVERRUN - 256] = "Queue has been overrun",
        [FI_ENORX - 256] = "Receiver not ready, no receive buffers available",
    };
    if (number < 0)
        number = -number;
    if (number < 256)
        return strerror(number);
    size_t i = (size_t)number - 256;
    return i < sizeof own / sizeof own[0] && own[i] != NULL ? own[i] : "Unspecified error";
}

/* Closes a fabric. */
int fabric_close(struct fid *fid)
{
    free(fid);
    return 0;
}

/* Implements fi_trywait: a wait may begin if the queues are empty now; each later entry then makes
 * the descriptor readable. */
static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fabric;
    for (int i = 0; i < count; i++) {
        if (fids[i]->fclass != FI_CLASS_CQ)
            continue;
        if (!cq_may_wait((struct cq *)fids[i]))
            return -FI_EAGAIN;
    }
    return 0;
}

static struct fi_ops fid_ops = {.size = sizeof fid_ops, .close = fabric_close};
static struct fi_ops_fabric ops = {
    .size = sizeof ops, .domain = domain_open, .eq_open = eq_open, .trywait = trywait};

/* Implements fi_fabric. */
int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    struct fabric *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -FI_ENOMEM;
    settings_read(&f->set);
    f->kind = kind_of(&f->set, attr->name);
    f->fid.fid = (struct fid){.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fid_ops};
    f->fid.ops = &ops;
    f->fid.api_version = attr->api_version;
    *fabric = &f->fid;
    return 0;
}
