/*
 * pair.c: two processes. The child's memory is written while the child is stopped, and the
 * child is killed: pair [FABRIC]. Bytes come also where neither process calls the library. A line
 * for each thing that is seen.
 */
#define _GNU_SOURCE
#include <signal.h>
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

enum { SIZE = 4 << 20, WRITES = 500 };

struct peer_info {
    char name[64];
    size_t len;
    uint64_t key, base;
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr;
static struct fi_context2 contexts[WRITES];

static void must(long ret, const char *what)
{
    if (ret == 0)
        return;
    printf("%s: %ld\n", what, ret);
    fflush(stdout);
    _exit(1);
}

static struct peer_info start(const char *name, char *memory)
{
    struct peer_info card = {.len = sizeof card.name};
    struct fi_info *h = fi_allocinfo();
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->ep_attr->type = FI_EP_RDM;
    h->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    if (name != NULL)
        h->fabric_attr->name = strdup(name);
    struct fi_cq_attr q = {.size = 4096, .format = FI_CQ_FORMAT_DATA};
    struct fi_av_attr v = {.type = FI_AV_TABLE};
    must(fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, h, &info), "fi_getinfo");
    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    must(fi_cq_open(domain, &q, &cq, NULL), "fi_cq_open");
    must(fi_av_open(domain, &v, &av, NULL), "fi_av_open");
    must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind");
    must(fi_ep_bind(ep, &av->fid, 0), "bind");
    must(fi_enable(ep), "fi_enable");
    must(fi_getname(&ep->fid, card.name, &card.len), "fi_getname");
    must(fi_mr_reg(domain, memory, SIZE,
                   FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5,
                   0, &mr, NULL),
         "fi_mr_reg");
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        must(fi_mr_bind(mr, &ep->fid, 0), "fi_mr_bind");
        must(fi_mr_enable(mr), "fi_mr_enable");
    }
    card.key = fi_mr_key(mr);
    card.base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
    return card;
}

static void give(int fd, const void *p, size_t n)
{
    must(write(fd, p, n) == (ssize_t)n ? 0 : 1, "give");
}

static void take(int fd, void *p, size_t n)
{
    must(read(fd, p, n) == (ssize_t)n ? 0 : 1, "take");
}

static fi_addr_t meet(const struct peer_info *card)
{
    fi_addr_t addr;
    must(fi_av_insert(av, card->name, 1, &addr, 0, NULL) == 1 ? 0 : 1, "fi_av_insert");
    return addr;
}

/* The next completion of this end: 0, an error, or -1 when there is none. */
static int done(int ms)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err = {0};
    for (int i = 0; i < 20 * ms; i++) {
        ssize_t ret = fi_cq_read(cq, &e, 1);
        if (ret == 1)
            return 0;
        if (ret == -FI_EAVAIL) {
            fi_cq_readerr(cq, &err, 0);
            return err.err;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return -1;
}

static void child(const char *name, char *memory, int in, int out)
{
    struct peer_info mine = start(name, memory), theirs;
    struct fi_cq_data_entry e;
    give(out, &mine, sizeof mine);
    take(in, &theirs, sizeof theirs);
    meet(&theirs);
    give(out, "", 1);
    for (;;) /* until it is killed */
        if (fi_cq_read(cq, &e, 1) == -FI_EAGAIN)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

int main(int argc, char **argv)
{
    int to[2], from[2], status;
    const char *name = argc > 1 ? argv[1] : NULL;
    char ready,
        *target = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *mine = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pipe(to) | pipe(from), "pipe");
    pid_t pid = fork();
    if (pid == 0)
        child(name, target, to[0], from[1]);
    struct peer_info theirs, card = start(name, mine);
    take(from[0], &theirs, sizeof theirs);
    give(to[1], &card, sizeof card);
    take(from[0], &ready, 1);
    fi_addr_t addr = meet(&theirs);
    void *desc = fi_mr_desc(mr);
    must(fi_write(ep, mine, 8, desc, addr, theirs.base, theirs.key, &contexts[0]), "first");
    must(done(2000), "first completion");

    kill(pid, SIGSTOP);
    must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? 0 : 1, "stop");
    for (int i = 0; i < SIZE; i++)
        mine[i] = (char)(i * 7 + i / 251 + 1);
    for (int i = 0; i < WRITES; i++) {
        size_t n = i == 0 ? SIZE / 2 : 1024, at = i == 0 ? 0 : SIZE / 2 + (size_t)i * 1024;
        while (fi_write(ep, mine + at, n, desc, addr, theirs.base + at, theirs.key, &contexts[i]) !=
               0)
            must(done(1000), "completion");
    }
    for (int i = 0; i < WRITES; i++)
        must(done(2000), "completion");
    must(memcmp(mine, target, SIZE / 2), "bytes of the large write");
    must(memcmp(mine + SIZE / 2 + 1024, target + SIZE / 2 + 1024, 1024 * (WRITES - 1)), "bytes");
    memset(mine, 0, 4096);
    must(fi_read(ep, mine, 4096, desc, addr, theirs.base, theirs.key, &contexts[0]), "read");
    must(done(2000), "completion of the read");
    must(memcmp(mine, target, 4096), "bytes of the read");
    printf("stopped: all there\n");

    /* No thread is in the library: the child is stopped, and this process sleeps. */
    memset(mine, 3, 64);
    must(fi_write(ep, mine, 64, desc, addr, theirs.base, theirs.key, &contexts[0]), "write");
    for (int i = 0; i < 1000 && *(volatile char *)target != 3; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    must(memcmp(mine, target, 64), "bytes of a write without a poll");
    must(done(2000), "its completion");

    kill(pid, SIGKILL);
    must(waitpid(pid, &status, 0) == pid ? 0 : 1, "kill");
    must(fi_write(ep, mine, 8, desc, addr, theirs.base, theirs.key, &contexts[0]), "write");
    printf("killed: %d\n", done(2000));
    fflush(stdout);
    must(fi_close(&mr->fid), "close region");
    must(fi_close(&ep->fid), "close endpoint");
    must(fi_close(&av->fid), "close vector");
    must(fi_close(&cq->fid), "close queue");
    must(fi_close(&domain->fid), "close domain");
    must(fi_close(&fabric->fid), "close fabric");
    return 0;
}
