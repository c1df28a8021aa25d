/*
 * stranger.c: a process outside the job that sends every kind of libfabric operation to the job's
 * endpoints. It uses libfabric alone.
 *
 *     stranger PROVIDER ENDPOINTS END HOST PORT...
 *
 * Each round opens ENDPOINTS endpoints, posts each kind with each length from each of them to each
 * port, and closes them with some operations in flight. Ports that do not listen yet refuse the
 * connection; the next round tries them again. Each round prints a line, and one more line appears
 * when each kind has been posted. When the file END exists, the process prints one line for each
 * kind and ends.
 */
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A kind with neither word in its name has neither a buffer nor a remote address. */
#define KINDS(X)                                                                                   \
    X(SEND, "send")                                                                                \
    X(SEND_DATA, "send-data")                                                                      \
    X(SEND_NOTHING, "send-nothing-data")                                                           \
    X(TAGGED, "tagged")                                                                            \
    X(TAGGED_DATA, "tagged-data")                                                                  \
    X(WRITE, "write")                                                                              \
    X(WRITE_DATA, "write-data")                                                                    \
    X(WRITE_NOTHING, "write-nothing")                                                              \
    X(WRITE_NOTHING_DATA, "write-nothing-data")                                                    \
    X(READ, "read")                                                                                \
    X(READ_NOTHING, "read-nothing")                                                                \
    X(ATOMIC, "atomic")                                                                            \
    X(FETCH, "fetch")                                                                              \
    X(COMPARE, "compare")

#define VALUE(kind, name) kind,
#define NAME(kind, name) name,
enum kind { KINDS(VALUE) KIND_COUNT };
static const char *const names[] = {KINDS(NAME)};

enum { LONGEST = 100000, MAX_PORTS = 32 };

/* Seconds. */
#define POST_TIMEOUT 0.005
#define CONNECTING 0.02

static const size_t lengths[] = {0, 8, 4096, LONGEST};

struct operation {
    struct fi_context2 context; /* first: the provider hands its address back */
    enum kind kind;
};

static struct {
    unsigned long posted, completed, failed, unsupported;
} counts[KIND_COUNT];

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static fi_addr_t targets[MAX_PORTS];
static int ports;
static char *buffer;
static const char *end_file;

static void must(const char *call, long ret)
{
    if (ret >= 0)
        return;
    fprintf(stderr, "stranger: %s: %s\n", call, fi_strerror((int)-ret));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ended(void)
{
    return access(end_file, F_OK) == 0;
}

/* Requests those of the four kinds of operation that the provider has. */
static struct fi_info *ask(const char *provider, const char *host, const char *port, uint64_t caps)
{
    struct fi_info *hints = fi_allocinfo(), *found = NULL;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    int ret = fi_getinfo(FI_VERSION(1, 15), host, port, 0, hints, &found);
    fi_freeinfo(hints);
    return ret == 0 ? found : NULL;
}

static void take_completions(void)
{
    struct fi_cq_msg_entry e;
    struct fi_cq_err_entry failure;
    for (;;) {
        ssize_t ret = fi_cq_read(cq, &e, 1);
        if (ret == 1 && e.op_context != NULL) {
            counts[((struct operation *)e.op_context)->kind].completed++;
        } else if (ret == -FI_EAVAIL) {
            memset(&failure, 0, sizeof failure);
            if (fi_cq_readerr(cq, &failure, 0) == 1 && failure.op_context != NULL)
                counts[((struct operation *)failure.op_context)->kind].failed++;
        } else if (ret != 1) {
            return;
        }
    }
}

static ssize_t post(struct fid_ep *ep, fi_addr_t to, size_t n, struct operation *o)
{
    const uint64_t data = (uint64_t)rand(), key = (uint64_t)rand(), at = (uint64_t)rand() * 8;
    struct fi_msg nothing = {.addr = to, .context = o, .data = data};
    struct fi_msg_rma nowhere = {.addr = to, .context = o, .data = data};
    switch (o->kind) {
    case SEND:
        return fi_send(ep, buffer, n, NULL, to, o);
    case SEND_DATA:
        return fi_senddata(ep, buffer, n, NULL, data, to, o);
    case SEND_NOTHING:
        return fi_sendmsg(ep, &nothing, FI_REMOTE_CQ_DATA | FI_COMPLETION);
    case TAGGED:
        return fi_tsend(ep, buffer, n, NULL, to, data, o);
    case TAGGED_DATA:
        return fi_tsenddata(ep, buffer, n, NULL, data, to, data, o);
    case WRITE:
        return fi_write(ep, buffer, n, NULL, to, at, key, o);
    case WRITE_DATA:
        return fi_writedata(ep, buffer, n, NULL, data, to, at, key, o);
    case WRITE_NOTHING:
        return fi_writemsg(ep, &nowhere, FI_COMPLETION);
    case WRITE_NOTHING_DATA:
        return fi_writemsg(ep, &nowhere, FI_REMOTE_CQ_DATA | FI_COMPLETION);
    case READ:
        return fi_read(ep, buffer, n, NULL, to, at, key, o);
    case READ_NOTHING:
        return fi_readmsg(ep, &nowhere, FI_COMPLETION);
    case ATOMIC:
        return fi_atomic(ep, buffer, n / 8, NULL, to, at, key, FI_UINT64, FI_SUM, o);
    case FETCH:
        return fi_fetch_atomic(ep, buffer, n / 8, NULL, buffer, NULL, to, at, key, FI_UINT64,
                               FI_SUM, o);
    case COMPARE:
        return fi_compare_atomic(ep, buffer, n / 8, NULL, buffer, NULL, buffer, NULL, to, at, key,
                                 FI_UINT64, FI_CSWAP, o);
    case KIND_COUNT:
        break;
    }
    return -FI_EINVAL;
}

/* Posts as soon as there is room, or gives up: the peer may accept no more, or not exist. */
static int posted(struct fid_ep *ep, fi_addr_t to, size_t n, struct operation *o, double timeout)
{
    for (const double stop = now() + timeout; now() < stop;) {
        ssize_t ret = post(ep, to, n, o);
        if (ret == -FI_ENOSYS || ret == -FI_EOPNOTSUPP)
            counts[o->kind].unsupported++;
        if (ret != -FI_EAGAIN)
            return ret == 0;
        take_completions();
        usleep(100); /* for the PEs, which share the processors */
    }
    return 0;
}

static struct fid_ep *open_endpoint(void)
{
    struct fid_ep *ep;
    struct fi_info *mine = fi_dupinfo(info);
    must("fi_endpoint", fi_endpoint(domain, mine, &ep, NULL));
    fi_freeinfo(mine);
    must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
    must("fi_enable", fi_enable(ep));
    return ep;
}

/*
 * A port without room for POST_TIMEOUT, and at first for CONNECTING, is skipped by that endpoint
 * until the next round, so that ports without a listener take little time. Each endpoint begins
 * with a kind of its own, since after some kinds the peer closes the connection.
 */
static void play_round(int endpoints, unsigned round)
{
    const size_t each = sizeof lengths / sizeof *lengths * KIND_COUNT * (size_t)ports;
    struct fid_ep **eps = calloc((size_t)endpoints, sizeof *eps);
    struct operation *operations = calloc(each * (size_t)endpoints, sizeof *operations);
    char *shut = calloc((size_t)endpoints, (size_t)ports);
    size_t next = 0;
    if (eps == NULL || operations == NULL || shut == NULL)
        must("calloc", -FI_ENOMEM);
    for (int i = 0; i < endpoints; i++)
        eps[i] = open_endpoint();
    if (round == 0) {
        printf("the endpoints are open\n");
        fflush(stdout);
    }
    for (unsigned turn = 0; turn < KIND_COUNT; turn++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int at = 0; at < endpoints * ports && !ended(); at++) {
                const int i = at / ports, port = at % ports;
                struct operation *o = &operations[next];
                o->kind = (enum kind)((turn + round + (unsigned)i) % KIND_COUNT);
                if (shut[at] || counts[o->kind].unsupported > 0)
                    continue;
                if (posted(eps[i], targets[port], lengths[l], o,
                           turn + l > 0 ? POST_TIMEOUT : CONNECTING)) {
                    counts[o->kind].posted++;
                    next++;
                } else {
                    shut[at] = 1;
                }
            }
    for (double stop = now() + 0.05; now() < stop; usleep(100))
        take_completions();
    for (int i = 0; i < endpoints; i++)
        must("fi_close", fi_close(&eps[i]->fid));
    take_completions();
    free(shut);
    free(eps);
    free(operations);
}

static int each_is_posted(void)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (counts[kind].posted == 0 && counts[kind].unsupported == 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 5 + MAX_PORTS)
        return 2;
    const char *provider = argv[1], *host = argv[4];
    end_file = argv[3];
    ports = argc - 5;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    const uint64_t caps = FI_MSG | FI_RMA;
    const uint64_t more[] = {FI_TAGGED | FI_ATOMIC, FI_TAGGED, FI_ATOMIC, 0};
    for (size_t i = 0; i < sizeof more / sizeof *more && info == NULL; i++)
        info = ask(provider, host, argv[5], caps | more[i]);
    if (info == NULL)
        must("fi_getinfo", -FI_ENODATA);
    if ((buffer = calloc(1, LONGEST)) == NULL)
        must("calloc", -FI_ENOMEM);
    must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    must("fi_domain", fi_domain(fabric, info, &domain, NULL));
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    must("fi_av_open", fi_av_open(domain, &table, &av, NULL));
    for (int port = 0; port < ports; port++) {
        struct fi_info *to = ask(provider, host, argv[5 + port], caps);
        if (to == NULL || fi_av_insert(av, to->dest_addr, 1, &targets[port], 0, NULL) != 1)
            must("fi_av_insert", -FI_EADDRNOTAVAIL);
        fi_freeinfo(to);
    }
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .size = 1 << 16};
    must("fi_cq_open", fi_cq_open(domain, &queue, &cq, NULL));
    unsigned rounds = 0;
    for (int told = 0; !ended();) {
        play_round(atoi(argv[2]), rounds++);
        printf("round %u\n", rounds);
        if (!told && each_is_posted()) {
            printf("each kind is posted\n");
            told = 1;
        }
        fflush(stdout);
    }
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (counts[kind].unsupported > 0)
            printf("%s: unsupported\n", names[kind]);
        else
            printf("%s: %lu posted, %lu completed, %lu failed\n", names[kind], counts[kind].posted,
                   counts[kind].completed, counts[kind].failed);
    return 0;
}
