/*
 * breaks.c: a program that breaks a provider's rules, one at a time: breaks RULE. It says in one
 * line what came of it, the name of an error or what else there is to see; the test has the
 * answer that is due, and another without the rule.
 *
 * It knows libfabric alone. Two endpoints of one process, a and b, know each other unless the
 * rule is about strangers.
 */
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

#define DMABUF (1ULL << 40)
#define MODE (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
enum { SIZE = 1 << 20, HALF = SIZE / 2 };

struct side {
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr;
    void *desc;
    uint64_t key, base;
    char name[64];
    size_t len;
    fi_addr_t other;
    char *memory;
};

static struct side a, b;
static struct fi_info *info;
static uint32_t api = FI_VERSION(1, 20);
static enum fi_wait_obj wait_obj = FI_WAIT_NONE;
static size_t cq_size = 4096;
static enum fi_cq_format format = FI_CQ_FORMAT_DATA;
static bool with_eq = true, strangers;
static const char *fabric; /* of the endpoints; NULL: the first that is offered */

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    _exit(0);
}

/* The name of an error; those that are no error of libfabric are a bug here. */
static const char *named(long ret)
{
    static char other[32];
    static const struct {
        int number;
        const char *name;
    } names[] = {{FI_ENODATA, "ENODATA"},         {FI_EINVAL, "EINVAL"},
                 {FI_ENOSYS, "ENOSYS"},           {FI_EAGAIN, "EAGAIN"},
                 {FI_ENOTCONN, "ENOTCONN"},       {FI_ECONNABORTED, "ECONNABORTED"},
                 {FI_EHOSTUNREACH, "EHOSTUNREACH"}, {FI_EBADFLAGS, "EBADFLAGS"},
                 {FI_EOPNOTSUPP, "EOPNOTSUPP"},   {FI_ENOPROTOOPT, "ENOPROTOOPT"},
                 {FI_EMSGSIZE, "EMSGSIZE"},       {FI_EIO, "EIO"},
                 {FI_ETRUNC, "ETRUNC"},           {FI_EOVERRUN, "EOVERRUN"},
                 {FI_ENOENT, "ENOENT"},           {FI_ENOKEY, "ENOKEY"}};
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

static void pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* The next entry of a queue: 1, or the negative error of an error entry; 0: none came. */
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
                           .data = 0xabcd1234};
    return fi_writemsg(s->ep, &m, flags);
}

/* Writes as a should, and tells what came of it. */
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

static void order(uint64_t asked)
{
    struct fi_info *h = hints();
    h->tx_attr->msg_order = h->rx_attr->msg_order = asked;
    int ret = ask(h);
    if (ret == 0 && info->tx_attr->msg_order == (asked & FI_ORDER_SAS))
        say("what was asked");
    say(ret == 0 ? "more" : named(ret));
}

static void r1a(void)
{
    order(FI_ORDER_SAS | FI_ORDER_WAW);
}
static void r1c(void)
{
    order(FI_ORDER_SAS);
}
static void r1c0(void)
{
    order(0);
}

static void r2a(void)
{
    must(ask(hints()), "fi_getinfo");
    say(info->fabric_attr->name);
}

static void r3a(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    cq_size = 32769;
    say(named(open_cq(&a)));
}

/* Of 5000 messages' worth of data for a queue of 4096. */
static void r3g(void)
{
    static struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int came = 0;
    cq_size = 16;
    both();
    for (int i = 0; i < 64; i++) {
        while (write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA,
                        &contexts[i]) != 0)
            ;
        if (next(&a, NULL, &e, &err, 1000) != 1)
            say("no completion");
    }
    for (;;) {
        int ret = next(&b, NULL, &e, &err, 20);
        if (ret < 0)
            say(named(ret));
        if (ret == 0)
            break;
        came++;
    }
    say(came == 16 ? "lost" : "all");
}

static void r4(void)
{
    strangers = true;
    both();
    say(written(b.key));
}

static void r5_send(void)
{
    both();
    say(named(fi_send(a.ep, a.memory, 33, NULL, a.other, &contexts[0])));
}
static void r5_recv(void)
{
    both();
    say(named(fi_recv(a.ep, a.memory, 33, NULL, FI_ADDR_UNSPEC, &contexts[0])));
}
static void r5_write(void)
{
    both();
    say(named(write_to(&a, &b, 8, NULL, b.key, FI_COMPLETION, &contexts[0])));
}

static void r6_inject(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}
static void r6_injectdata(void)
{
    both();
    say(named(fi_inject_writedata(a.ep, a.memory, 8, 1, a.other, b.base, b.key)));
}
static void r6_flag(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_INJECT, NULL)));
}
static void r6d(void)
{
    both();
    say(named(fi_send(a.ep, a.memory, 8929, a.desc, a.other, &contexts[0])));
}
static void r6e(void)
{
    both();
    struct iovec iov = {a.memory, (size_t)(1 << 30) + 1};
    struct fi_rma_iov rma = {b.base, iov.iov_len, b.key};
    struct fi_msg_rma m = {.msg_iov = &iov,
                           .desc = &a.desc,
                           .iov_count = 1,
                           .addr = a.other,
                           .rma_iov = &rma,
                           .rma_iov_count = 1,
                           .context = &contexts[0]};
    say(named(fi_writemsg(a.ep, &m, FI_COMPLETION)));
}
static void r6_long(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 33, a.other)));
}

static void r7a(void)
{
    struct fi_context2 clean;
    both();
    memset(&clean, 0x77, sizeof clean);
    contexts[0] = clean;
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    say(memcmp(&contexts[0], &clean, sizeof clean) != 0 ? "written" : "left alone");
}
/* The context is the provider's until the completion. */
static void r7a_abort(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    memset(&contexts[0], 0x77, sizeof contexts[0]);
    next(&a, &b, &e, &err, 100);
    say("fine");
}
static void r7b(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, NULL), "write");
    say(next(&a, &b, &e, &err, 50) == 1 ? "completed" : "nothing");
}

static void r8(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_FD;
    say(named(open_cq(&a)));
}
/* Whether trywait sees an entry that nobody has read, and whether the descriptor stays readable. */
static void r8d(void)
{
    struct fi_cq_data_entry e;
    int fd = -1;
    wait_obj = FI_WAIT_FD;
    both();
    struct fid *fid = &a.cq->fid;
    struct pollfd p = {.events = POLLIN};
    must(fi_control(fid, FI_GETWAIT, &fd), "FI_GETWAIT");
    p.fd = fd;
    must(fi_trywait(a.fabric, &fid, 1), "fi_trywait of an empty queue");
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    if (poll(&p, 1, 1000) != 1)
        say("not woken");
    int first = fi_trywait(a.fabric, &fid, 1);
    if (first != -FI_EAGAIN || poll(&p, 1, 0) != 1)
        say(first != -FI_EAGAIN ? "agrees" : "no longer readable");
    while (fi_cq_read(a.cq, &e, 1) != 1)
        ;
    if (poll(&p, 1, 0) != 1)
        say("taken back by reading");
    must(fi_trywait(a.fabric, &fid, 1), "fi_trywait after reading");
    say(poll(&p, 1, 0) == 0 ? "until trywait" : "stays");
}
static void r8k(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    format = FI_CQ_FORMAT_TAGGED;
    say(named(open_cq(&a)));
}

/* b is gone before its first contact with a. */
static void lose_b(void)
{
    both();
    must(fi_close(&b.ep->fid), "close b");
}
static void r9(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    struct fi_eq_err_entry said = {0};
    uint32_t event;
    lose_b();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    for (int i = 0; i < 20; i++) {
        next(&a, NULL, &e, &err, 1);
        if (a.eq != NULL && fi_eq_read(a.eq, &event, &e, sizeof e, 0) == -FI_EAVAIL) {
            fi_eq_readerr(a.eq, &said, 0);
            say(named(said.err));
        }
    }
    say("silence");
}
static void r9a(void)
{
    with_eq = false;
    r9();
}

static void r10b(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    /* b does not poll. */
    say(next(&a, NULL, &e, &err, 50) == 1 ? "completed" : "nothing");
}
/* A message to one who does not poll stays where it is; RDMA after the handshake does not. */
static void r10a(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    shake();
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    memset(a.memory, 9, 8);
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[2]), "write");
    for (int came = 0; came < 2; came++)
        if (next(&a, NULL, &e, &err, 1000) != 1)
            say("nothing");
    say(b.memory[HALF] != 9 ? "no RDMA" : b.memory[0] == 9 ? "both" : "RDMA alone");
}
static void r10c(void)
{
    both();
    for (int i = 0; i < 16; i++)
        must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[i]), "write");
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[16])));
}
static void r10d(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

/* A completion of data, as b sees it. */
static void told(struct fi_cq_data_entry *e, fi_addr_t *from)
{
    struct fi_cq_data_entry ignored;
    shake();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[1]),
         "write");
    for (int i = 0; i < 20000; i++) {
        fi_cq_read(a.cq, &ignored, 1);
        if (fi_cq_readfrom(b.cq, e, 1, from) == 1)
            return;
        pause_us(100);
    }
    say("nothing");
}
static void r11a(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(e.op_context == NULL ? "NULL" : "a context");
}
static void r11b(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(e.flags == (FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE) && e.data == 0xabcd1234 ? "all"
                                                                                         : "other");
}
static void r11e(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(from == b.other ? "filled" : "empty");
}
static void r11c(void)
{
    struct fi_cq_data_entry e;
    struct fi_info *h = hints();
    fi_addr_t from = 99;
    h->mode |= FI_RX_CQ_DATA;
    must(ask(h), "fi_getinfo");
    both();
    must(fi_recv(b.ep, b.memory, 64, b.desc, FI_ADDR_UNSPEC, &contexts[7]), "fi_recv");
    told(&e, &from);
    say(e.op_context == &contexts[7] ? "a receive" : "NULL");
}
static void r11h(void)
{
    struct fi_info *h = hints();
    say(named(ask(h)));
}

static int dma_buf(uint64_t misplace, uint64_t offset, struct fid_mr **mr)
{
    struct {
        int fd;
        uint64_t offset;
        size_t len;
        void *base;
    } file = {.offset = offset, .len = 8192};
    struct {
        struct fi_mr_attr attr;
        uint64_t later[8];
    } x = {.attr = {.mr_iov = (const void *)&file,
                    .iov_count = 1,
                    .access = FI_REMOTE_WRITE | FI_REMOTE_READ,
                    .iface = FI_HMEM_CUDA}};
    file.fd = memfd_create("gpu", MFD_CLOEXEC);
    if (ftruncate(file.fd, 65536) != 0)
        return -errno;
    char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    file.base = at + misplace;
    b.memory = at;
    return fi_mr_regattr(b.domain, &x.attr, DMABUF, mr);
}
static void gpu(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_HMEM;
    h->domain_attr->mr_mode |= FI_MR_HMEM;
    must(ask(h), "fi_getinfo");
    both();
}
/* Registered with the address of the memory at the offset, the device counts from further on. */
static void r13a(void)
{
    struct fid_mr *mr;
    gpu();
    shake();
    must(dma_buf(4096, 4096, &mr), "fi_mr_regattr");
    b.base = (uintptr_t)b.memory + 4096 - HALF;
    memset(a.memory, 7, 8);
    const char *came = written(fi_mr_key(mr));
    say(strcmp(came, "fine") != 0 ? came : b.memory[4096] == 7 ? "there" : "elsewhere");
}
static void r13b(void)
{
    struct fid_mr *mr;
    gpu();
    say(named(dma_buf(64, 0, &mr)));
}
static void r13c(void)
{
    struct fid_mr *mr;
    api = FI_VERSION(1, 19);
    gpu();
    say(named(dma_buf(0, 0, &mr)));
}
static void r14b(void)
{
    both();
    say(b.key == 77 ? "as asked" : "the device's");
}

static void injected_error(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_inject(a.ep, a.memory, 8, a.other), "fi_inject");
    int ret = next(&a, NULL, &e, &err, 100);
    say(ret == 0 ? "nothing" : err.op_context == NULL ? "without context" : "with context");
}
static void gone(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    shake();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[0]), "fi_send");
    int ret = next(&a, NULL, &e, &err, 200);
    say(ret == 0 ? "nothing" : named(ret));
}
static void bad_key(void)
{
    both();
    say(written(b.key + 1));
}
static void r15p(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    must(fi_send(a.ep, a.memory, 16, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&b, &a, &e, &err, 200);
    say(ret == 1 ? "fine" : named(ret));
}

static void r16a(void)
{
    both();
    for (int i = 0; i < 4096; i++)
        must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[i]), "fi_send");
    say(named(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[4096])));
}
/* Without a receive the sender waits; with one its message comes. */
static void r16d(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&a, &b, &e, &err, 20);
    if (ret != 0)
        say(ret == 1 ? "sent" : named(ret));
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    ret = next(&b, NULL, &e, &err, 1000);
    say(ret == 1 && e.op_context == &contexts[0] ? "waits" : "lost");
}
static void r16f(void)
{
    both();
    for (size_t i = 0; i < info->rx_attr->size; i++)
        must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[i]), "fi_recv");
    say(named(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0])));
}
static void r16g(void)
{
    both();
    say(named(fi_cancel(&a.ep->fid, &contexts[0])));
}

static void r17(bool registers)
{
    struct fi_info *h = hints();
    h->caps |= FI_HMEM;
    if (registers)
        h->domain_attr->mr_mode |= FI_MR_HMEM;
    say(named(ask(h)));
}
static void r17a(void)
{
    r17(false);
}
static void r17b(void)
{
    r17(true);
}

static void r19a(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[0])));
}
static void r19b(void)
{
    both();
    say(named(fi_writedata(a.ep, a.memory, 8, a.desc, 1, a.other, b.base, b.key, &contexts[0])));
}
/* The region has the length of the dma-buf's offset, which is 0. */
static void r19d(void)
{
    struct fid_mr *mr;
    gpu();
    must(dma_buf(0, 0, &mr), "fi_mr_regattr");
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        must(fi_mr_bind(mr, &b.ep->fid, 0), "fi_mr_bind");
        must(fi_mr_enable(mr), "fi_mr_enable");
    }
    b.base = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)b.memory : 0) - HALF;
    say(written(fi_mr_key(mr)));
}
static void r19c(void)
{
    both();
    say(named(fi_inject_writedata(a.ep, a.memory, 8, 1, a.other, b.base, b.key)));
}
static void r19h(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_FENCE, &contexts[0])));
}
static void r19g(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 193, a.other)));
}

static void option(int name, bool value, size_t len)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    must(open_cq(&a), "fi_cq_open");
    make_ep(&a);
    say(named(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, name, &value, len)));
}
static void r20_cuda(void)
{
    option(10, false, sizeof(bool));
}
static void r20d(void)
{
    option(11, false, sizeof(bool));
}
static void r20e(void)
{
    option(11, true, sizeof(bool));
}
static void r20g(void)
{
    option(999, false, sizeof(bool));
}
static void r20h(void)
{
    option(11, false, 8);
}

static void r22(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say("opened");
}
static void r23(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    say("forked");
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"orders", r1a},
    {"granted", r1c},
    {"none-granted", r1c0},
    {"first", r2a},
    {"cq-large", r3a},
    {"cq-full", r3g},
    {"stranger", r4},
    {"send-bare", r5_send},
    {"recv-bare", r5_recv},
    {"write-bare", r5_write},
    {"inject-write", r6_inject},
    {"inject-writedata", r6_injectdata},
    {"write-injected", r6_flag},
    {"send-long", r6d},
    {"write-long", r6e},
    {"inject-long", r6_long},
    {"context", r7a},
    {"context-changed", r7a_abort},
    {"no-context", r7b},
    {"wait-fd", r8},
    {"wait", r8d},
    {"tagged", r8k},
    {"lost", r9},
    {"lost-no-eq", r9a},
    {"unpolled", r10b},
    {"moves", r10a},
    {"seventeenth", r10c},
    {"inject-first", r10d},
    {"data-context", r11a},
    {"data-flags", r11b},
    {"data-source", r11e},
    {"data-receive", r11c},
    {"rma-offered", r11h},
    {"dmabuf-offset", r13a},
    {"dmabuf-page", r13b},
    {"dmabuf-old", r13c},
    {"key", r14b},
    {"inject-error", injected_error},
    {"gone", gone},
    {"bad-key", bad_key},
    {"truncated", r15p},
    {"send-queue", r16a},
    {"no-receive", r16d},
    {"receive-queue", r16f},
    {"cancel", r16g},
    {"hmem-mode", r17a},
    {"hmem", r17b},
    {"data", r19a},
    {"writedata", r19b},
    {"dmabuf-cxi", r19d},
    {"inject-cxi", r19g},
    {"inject-data-cxi", r19c},
    {"fence", r19h},
    {"option-cuda", r20_cuda},
    {"option-shm", r20d},
    {"option-shm-on", r20e},
    {"option-unknown", r20g},
    {"option-length", r20h},
    {"open", r22},
    {"fork", r23},
};

int main(int argc, char **argv)
{
    if (argc > 2)
        fabric = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    fprintf(stderr, "usage: breaks WHAT [FABRIC]\n");
    return 2;
}
