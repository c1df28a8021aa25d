/*
 * opens.h: rules about what is offered, opened and registered.
 */
#ifndef OPENS_H
#define OPENS_H

#include "side.h"

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
    fi_close(&a.ep->fid);
    fi_close(&b.ep->fid);
    say(came == 16 ? "lost" : "all");
}

static void r8(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_FD;
    say(named(open_cq(&a)));
}

/* Whether trywait sees an entry that was not read, and whether the descriptor stays readable. */
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

static void r8i(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_REMOTE_COMM;
    must(ask(h), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_FD;
    say(named(open_cq(&a)));
}

static void r8k(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    format = FI_CQ_FORMAT_TAGGED;
    say(named(open_cq(&a)));
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

static void register_two(enum fi_hmem_iface iface, size_t count)
{
    struct fid_mr *mr;
    static char memory[2][4096];
    struct iovec iov[2] = {{memory[0], 4096}, {memory[1], 4096}};
    struct {
        struct fi_mr_attr attr;
        uint64_t later[8];
    } x = {.attr = {.mr_iov = iov, .iov_count = count, .access = FI_WRITE, .iface = iface}};
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say(named(fi_mr_regattr(a.domain, &x.attr, 0, &mr)));
}

static void r13d(void)
{
    register_two(FI_HMEM_CUDA, 1);
}

static void r13e(void)
{
    register_two(FI_HMEM_SYSTEM, 2);
}

static void r14b(void)
{
    both();
    say(b.key == 77 ? "as asked" : "the device's");
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

#endif
