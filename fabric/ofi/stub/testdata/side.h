/*
 * side.h: two endpoints of one process, a and b, for programs that break rules.
 */
#ifndef SIDE_H
#define SIDE_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define DMABUF (1ULL << 40) /* FI_MR_DMABUF, which older headers lack */
/* The registration modes that hints() accepts. */
#define MODE (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
/* Bytes of the memory of an end. Operations use the first half of an end's own memory, and write_to
 * writes to the second half of the other's. */
enum { SIZE = 1 << 20, HALF = SIZE / 2 };

/* One endpoint, with all that it needs. */
struct side {
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr;
    void *desc;
    uint64_t key, base; /* by which the other end names `memory`: its key, and its address or 0 */
    char name[64];      /* the endpoint's address, for the other end's vector */
    size_t len;         /* of name */
    fi_addr_t other;    /* the other end in av */
    char *memory;       /* SIZE bytes, registered as mr */
};

static struct side a, b;
static struct fi_info *info;
static uint32_t api = FI_VERSION(1, 20);
static enum fi_wait_obj wait_obj = FI_WAIT_NONE;
static size_t cq_size = 4096;
static enum fi_cq_format format = FI_CQ_FORMAT_DATA;
static bool with_eq = true, strangers;
static void (*prepare)(struct side *); /* before an endpoint is enabled */
static const char *fabric;             /* of the endpoints; NULL: the first that is offered */

/* An action by its name; it prints its result. */
struct what {
    const char *name;
    void (*run)(void);
};

/* Prints the result of an action, and ends the program with status 0. */
static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    _exit(0);
}

__attribute__((unused)) static void say_number(long n)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", n);
    say(text);
}

/* The name of an error; a number that is no error of libfabric is a bug here. */
static const char *named(long ret)
{
    static char other[32];
    static const struct {
        int number;
        const char *name;
    } names[] = {{FI_ENODATA, "ENODATA"},
                 {FI_ENOCQ, "ENOCQ"},
                 {FI_ETOOSMALL, "ETOOSMALL"},
                 {FI_EINVAL, "EINVAL"},
                 {FI_ENOSYS, "ENOSYS"},
                 {FI_EAGAIN, "EAGAIN"},
                 {FI_ENOTCONN, "ENOTCONN"},
                 {FI_ECONNABORTED, "ECONNABORTED"},
                 {FI_EHOSTUNREACH, "EHOSTUNREACH"},
                 {FI_EBADFLAGS, "EBADFLAGS"},
                 {FI_EOPNOTSUPP, "EOPNOTSUPP"},
                 {FI_ENOPROTOOPT, "ENOPROTOOPT"},
                 {FI_EMSGSIZE, "EMSGSIZE"},
                 {FI_EIO, "EIO"},
                 {FI_ETRUNC, "ETRUNC"},
                 {FI_EOVERRUN, "EOVERRUN"},
                 {FI_ENOENT, "ENOENT"},
                 {FI_ENOKEY, "ENOKEY"},
                 {FI_EKEYREJECTED, "EKEYREJECTED"},
                 {FI_ECANCELED, "ECANCELED"},
                 {FI_EHOSTDOWN, "EHOSTDOWN"}};
    if (ret < 0)
        ret = -ret;
    if (ret == 0)
        return "fine";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == ret)
            return names[i].name;
    snprintf(other, sizeof other, "error %ld", ret);
    return other;
}

/* Ends the program with status 1 if a call that is no part of a rule has failed; what names it. */
static void must(long ret, const char *what)
{
    if (ret == 0)
        return;
    printf("%s: %s\n", what, named(ret));
    fflush(stdout);
    _exit(1);
}

static struct fi_info *hints(void)
{
    struct fi_info *h = fi_allocinfo();
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->ep_attr->type = FI_EP_RDM;
    h->domain_attr->mr_mode = MODE;
    if (fabric != NULL)
        h->fabric_attr->name = strdup(fabric);
    return h;
}

/* Stores in info the offers for hints h. Returns what fi_getinfo returns. */
static int ask(struct fi_info *h)
{
    return fi_getinfo(api, NULL, NULL, 0, h, &info);
}

static int open_domain(struct side *s)
{
    must(fi_fabric(info->fabric_attr, &s->fabric, NULL), "fi_fabric");
    return fi_domain(s->fabric, info, &s->domain, NULL);
}

static int open_cq(struct side *s)
{
    struct fi_cq_attr attr = {.size = cq_size, .format = format, .wait_obj = wait_obj};
    return fi_cq_open(s->domain, &attr, &s->cq, NULL);
}

static void make_ep(struct side *s)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_NONE};
    must(fi_av_open(s->domain, &av, &s->av, NULL), "fi_av_open");
    must(fi_endpoint(s->domain, info, &s->ep, NULL), "fi_endpoint");
    must(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV), "bind cq");
    must(fi_ep_bind(s->ep, &s->av->fid, 0), "bind av");
    if (with_eq) {
        must(fi_eq_open(s->fabric, &eq, &s->eq, NULL), "fi_eq_open");
        must(fi_ep_bind(s->ep, &s->eq->fid, 0), "bind eq");
    }
}

static void enable(struct side *s)
{
    if (prepare != NULL)
        prepare(s);
    must(fi_enable(s->ep), "fi_enable");
    s->len = sizeof s->name;
    must(fi_getname(&s->ep->fid, s->name, &s->len), "fi_getname");
    s->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(fi_mr_reg(s->domain, s->memory, SIZE,
                   FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 77,
                   0, &s->mr, NULL),
         "fi_mr_reg");
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        must(fi_mr_bind(s->mr, &s->ep->fid, 0), "fi_mr_bind");
        must(fi_mr_enable(s->mr), "fi_mr_enable");
    }
    s->desc = fi_mr_desc(s->mr);
    s->key = fi_mr_key(s->mr);
    s->base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)s->memory : 0;
}

static void open_side(struct side *s)
{
    must(open_domain(s), "fi_domain");
    must(open_cq(s), "fi_cq_open");
    make_ep(s);
    enable(s);
}

/* Makes s know the address of the other end. */
static void meet(struct side *s, struct side *other)
{
    if (fi_av_insert(s->av, other->name, 1, &s->other, 0, NULL) != 1)
        must(-FI_EINVAL, "fi_av_insert");
}

/* Two endpoints; b does not know a where the rule is about strangers. */
static void both(void)
{
    if (info == NULL)
        must(ask(hints()), "fi_getinfo");
    open_side(&a);
    open_side(&b);
    meet(&a, &b);
    if (!strangers)
        meet(&b, &a);
}

static struct fi_context2 contexts[8192];

/*
 * How long an operation that does not come is waited for. One that does comes in the polls that are
 * made meanwhile, which a busy machine delays as well.
 */
enum { LONG_MS = 100 };

static void pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Reads the next entry of the queue of s, and polls `other` (unless it is NULL) meanwhile, for at
 * least ms milliseconds. Returns 1, or the negative error of an error entry; 0: none came. */
static int next(struct side *s, struct side *other, struct fi_cq_data_entry *e,
                struct fi_cq_err_entry *err, int ms)
{
    for (int i = 0; i < ms * 10; i++) {
        struct fi_cq_data_entry ignored;
        ssize_t ret = fi_cq_read(s->cq, e, 1);
        if (ret == 1)
            return 1;
        if (ret == -FI_EAVAIL) {
            memset(err, 0, sizeof *err);
            fi_cq_readerr(s->cq, err, 0);
            return -err->err;
        }
        if (ret != -FI_EAGAIN)
            return (int)ret;
        if (other != NULL && fi_cq_read(other->cq, &ignored, 1) > 0 && ignored.flags == 0)
            return 0;
        pause_us(100);
    }
    return 0;
}

/* Posts a write of n bytes from the first half of the memory of s to the second half of that of
 * `to`, by fi_writemsg with these flags. Data goes with it if they have FI_REMOTE_CQ_DATA. */
static ssize_t write_to(struct side *s, struct side *to, size_t n, void *desc, uint64_t key,
                        uint64_t flags, void *context)
{
    struct iovec iov = {s->memory, n};
    struct fi_rma_iov rma = {.addr = to->base + HALF, .len = n, .key = key};
    struct fi_msg_rma m = {.msg_iov = &iov,
                           .desc = &desc,
                           .iov_count = 1,
                           .addr = s->other,
                           .rma_iov = &rma,
                           .rma_iov_count = 1,
                           .context = context,
                           .data = 0x12345678abcd1234};
    return fi_writemsg(s->ep, &m, flags);
}

/* Writes as a should, and returns the result. */
static const char *written(uint64_t key)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    must(write_to(&a, &b, 8, a.desc, key, FI_COMPLETION, &contexts[0]), "write");
    int ret = next(&a, &b, &e, &err, 2000);
    return ret == 1 ? "fine" : ret == 0 ? "nothing" : named(ret);
}

/* Has the handshake made, where there is one. */
static void shake(void)
{
    written(b.key);
}

#endif
