/*
 * stands.c: whether two endpoints that write to each other finish, over the provider that the
 * argument names. It uses libfabric alone.
 *
 * Each end keeps 128 writes of 2 KiB under way and reads its completion queue without a pause, from
 * a thread and a domain of its own, so that both sockets' windows close now and then, at any byte.
 * It prints "stands: " and how far both came when neither end has had a completion for two seconds,
 * or "through" after 20 rounds of 4,000 writes.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20, WRITES = 4000, BYTES = 2048, UNDER_WAY = 128, SECONDS = 2 };

struct end {
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_cq *queue;
    struct fid_av *peers;
    struct fid_mr *region;
    char memory[2 * UNDER_WAY * BYTES]; /* the first half is written from, the second to */
    struct fi_context2 under_way[UNDER_WAY];
    fi_addr_t to;
    uint64_t base, key; /* of the other's memory */
    atomic_int complete;
};

static struct end ends[2];

/* Ends the program with status 2 if a call of libfabric, named by what, has returned an error. */
static void check(const char *what, long ret)
{
    if (ret >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
    exit(2);
}

/* Opens an endpoint with its queue, address vector and registered memory. */
static void open_end(struct end *e, struct fi_info *info)
{
    struct fi_cq_attr queue = {.size = 1024, .format = FI_CQ_FORMAT_MSG};
    struct fi_av_attr peers = {.type = FI_AV_TABLE, .count = 1};
    check("fi_fabric", fi_fabric(info->fabric_attr, &e->fabric, NULL));
    check("fi_domain", fi_domain(e->fabric, info, &e->domain, NULL));
    check("fi_cq_open", fi_cq_open(e->domain, &queue, &e->queue, NULL));
    check("fi_av_open", fi_av_open(e->domain, &peers, &e->peers, NULL));
    check("fi_endpoint", fi_endpoint(e->domain, info, &e->ep, NULL));
    check("fi_ep_bind", fi_ep_bind(e->ep, &e->queue->fid, FI_TRANSMIT | FI_RECV));
    check("fi_ep_bind", fi_ep_bind(e->ep, &e->peers->fid, 0));
    check("fi_enable", fi_enable(e->ep));
    check("fi_mr_reg", fi_mr_reg(e->domain, e->memory, sizeof e->memory, FI_WRITE | FI_REMOTE_WRITE,
                                 0, 1, 0, &e->region, NULL));
    atomic_store(&e->complete, 0);
}

/* Stores in e the other end's address and the address and key of its memory. */
static void meet(struct end *e, struct end *other, const struct fi_info *info)
{
    char name[256];
    size_t length = sizeof name;
    check("fi_getname", fi_getname(&other->ep->fid, name, &length));
    check("fi_av_insert", fi_av_insert(e->peers, name, 1, &e->to, 0, NULL) == 1 ? 0 : -FI_EINVAL);
    e->base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)other->memory : 0;
    e->key = fi_mr_key(other->region);
}

/* Closes what open_end has opened. */
static void close_end(struct end *e)
{
    fi_close(&e->ep->fid);
    fi_close(&e->region->fid);
    fi_close(&e->peers->fid);
    fi_close(&e->queue->fid);
    fi_close(&e->domain->fid);
    fi_close(&e->fabric->fid);
}

/* Thread of an end: posts its WRITES writes, and reads the queue until both ends have all their
 * completions. */
static void *drive(void *arg)
{
    struct end *e = arg;
    struct fi_cq_msg_entry got[16];
    int idle[UNDER_WAY], n_idle = UNDER_WAY, posted = 0;
    for (int i = 0; i < UNDER_WAY; i++)
        idle[i] = i;
    while (atomic_load(&ends[0].complete) < WRITES || atomic_load(&ends[1].complete) < WRITES) {
        if (posted < WRITES && n_idle > 0) {
            size_t i = (size_t)idle[n_idle - 1];
            ssize_t ret =
                fi_write(e->ep, e->memory + i * BYTES, BYTES, fi_mr_desc(e->region), e->to,
                         e->base + (UNDER_WAY + i) * BYTES, e->key, &e->under_way[i]);
            if (ret == 0) {
                n_idle--, posted++;
                continue;
            }
            if (ret != -FI_EAGAIN)
                check("fi_write", ret);
        }
        ssize_t n = fi_cq_read(e->queue, got, sizeof got / sizeof *got);
        if (n == -FI_EAGAIN)
            continue;
        check("fi_cq_read", n);
        for (ssize_t i = 0; i < n; i++)
            idle[n_idle++] = (int)((struct fi_context2 *)got[i].op_context - e->under_way);
        atomic_fetch_add(&e->complete, (int)n);
    }
    return NULL;
}

/* Thread that ends the program when neither end has had a completion for SECONDS. */
static void *watch(void *arg)
{
    int before = -1, still = 0; /* tenths of a second without a completion */
    for (;; nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL)) {
        int a = atomic_load(&ends[0].complete), b = atomic_load(&ends[1].complete);
        still = a + b == before ? still + 1 : 0;
        before = a + b;
        if (still == SECONDS * 10) {
            printf("stands: %d and %d of %d writes are complete\n", a, b, WRITES);
            exit(0);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s PROVIDER\n", argv[0]);
        return 2;
    }
    struct fi_info *hints = fi_allocinfo(), *info;
    if (hints == NULL)
        return 2;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(argv[1]);
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), "127.0.0.1", "0", FI_SOURCE, hints, &info));
    pthread_t watcher, drivers[2];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            open_end(&ends[i], info);
        for (int i = 0; i < 2; i++)
            meet(&ends[i], &ends[1 - i], info);
        if (round == 0 && pthread_create(&watcher, NULL, watch, NULL) != 0)
            return 2;
        for (int i = 0; i < 2; i++)
            if (pthread_create(&drivers[i], NULL, drive, &ends[i]) != 0)
                return 2;
        for (int i = 0; i < 2; i++)
            pthread_join(drivers[i], NULL);
        for (int i = 0; i < 2; i++)
            close_end(&ends[i]);
    }
    printf("through\n");
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}
