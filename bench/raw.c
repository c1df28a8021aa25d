/*
 * raw: the figures of a bare loop over libfabric's fi_write between two network namespaces, without
 * any of this library: the library's limit. One PE a side, one thread, one endpoint.
 *
 *   raw PROVIDER NAMESPACE ADDRESS NAMESPACE ADDRESS [milliseconds a figure]
 *
 * Output, tab-separated:   metric  size  value  unit
 */
#define _GNU_SOURCE
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 11, WINDOW = 64, BURST = 512 };
#define MEMORY ((size_t)65 << 20) /* bytes that a side registers: HEAP, and then its word */
#define HEAP ((size_t)64 << 20)   /* bytes of the target of puts */

static double budget_ns = 100e6;

/* The data that the other side needs. */
struct peer_info {
    char address[128];
    size_t length;
    uint64_t base, key;
};

static struct side {
    int first; /* this side measures, the other one answers */
    struct fid_ep *ep;
    struct fid_cq *cq;
    fi_addr_t peer;
    char *memory;
    volatile uint64_t *word; /* in this side's memory; the other side writes it */
    uint64_t turn;           /* number of volleys so far, which the words get */
    uint64_t base, key;      /* of the other side's memory, for fi_write */
    void *desc;
    struct fi_context2 contexts[WINDOW]; /* of the writes under way */
    int free[WINDOW], n_free;            /* the stack of the contexts that are not in use */
} side;

/* Exits with a message if code is an error of libfabric, which is negative. */
static void need(long code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "raw: %s: %s\n", what, fi_strerror((int)-code));
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Opens an endpoint on this side's address, and exchanges peer_info with the other process over the
 * socket `other`. */
static void open_side(const char *provider, const char *address, int other)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    need(fi_getinfo(FI_VERSION(1, 11), address, NULL, FI_SOURCE, hints, &info), provider);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *mr;
    struct fi_cq_attr queue = {.size = 4 * WINDOW, .format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr vector = {.type = FI_AV_TABLE};
    need(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    need(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    need(fi_cq_open(domain, &queue, &side.cq, NULL), "fi_cq_open");
    need(fi_av_open(domain, &vector, &av, NULL), "fi_av_open");
    need(fi_endpoint(domain, info, &side.ep, NULL), "fi_endpoint");
    need(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    need(fi_ep_bind(side.ep, &av->fid, 0), "fi_ep_bind");
    need(fi_enable(side.ep), "fi_enable");
    side.memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    need(side.memory == MAP_FAILED ? -FI_ENOMEM : 0, "mmap");
    need(fi_mr_reg(domain, side.memory, MEMORY,
                   FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                   1 /* a key, if the provider makes none */, 0, &mr, NULL),
         "fi_mr_reg");
    side.desc = fi_mr_desc(mr);
    side.word = (volatile uint64_t *)(void *)(side.memory + HEAP);

    struct peer_info mine = {.length = sizeof mine.address, .key = fi_mr_key(mr)}, theirs;
    if (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        mine.base = (uintptr_t)side.memory;
    need(fi_getname(&side.ep->fid, mine.address, &mine.length), "fi_getname");
    if (write(other, &mine, sizeof mine) != sizeof mine ||
        recv(other, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs)
        need(-FI_EIO, "tell the other side");
    need(fi_av_insert(av, theirs.address, 1, &side.peer, 0, NULL) == 1 ? 0 : -FI_EINVAL,
         "fi_av_insert");
    side.base = theirs.base;
    side.key = theirs.key;
    for (int i = 0; i < WINDOW; i++)
        side.free[side.n_free++] = i;
}

/* Reads completions, which also makes the provider progress, and frees their contexts. n is
 * negative while there are none (-FI_EAGAIN). */
static void reap(void)
{
    struct fi_cq_entry entries[32];
    ssize_t n = fi_cq_read(side.cq, entries, 32);
    if (n == -FI_EAVAIL) {
        struct fi_cq_err_entry e = {0};
        fi_cq_readerr(side.cq, &e, 0);
        need(-e.err, "completion");
    }
    for (ssize_t i = 0; i < n; i++)
        side.free[side.n_free++] =
            (int)((struct fi_context2 *)entries[i].op_context - side.contexts);
}

/* Begins a write of n bytes to offset at of the other side's memory. */
static void post(size_t at, const void *from, size_t n)
{
    while (side.n_free == 0)
        reap();
    for (;;) {
        int c = side.free[side.n_free - 1];
        ssize_t code = fi_write(side.ep, from, n, side.desc, side.peer, side.base + at, side.key,
                                &side.contexts[c]);
        if (code == 0)
            break;
        if (code != -FI_EAGAIN)
            need(code, "fi_write");
        reap();
    }
    side.n_free--;
}

/* Begins a write of a word, without a completion. */
static void inject(size_t at, uint64_t value)
{
    ssize_t code;
    while ((code = fi_inject_write(side.ep, &value, sizeof value, side.peer, side.base + at,
                                   side.key)) == -FI_EAGAIN)
        reap();
    need(code, "fi_inject_write");
}

/* The first side writes the other's word and waits until the other has written its own. */
static void volley(void)
{
    side.turn++;
    if (side.first)
        inject(HEAP, side.turn);
    while (*side.word != side.turn)
        reap();
    if (!side.first)
        inject(HEAP, side.turn);
}

/* Waits until all writes have arrived at the other side. */
static void drain(void)
{
    while (side.n_free < WINDOW)
        reap();
    volley(); /* a completion only says that the source is free; the answer, that data arrived */
}

static void op_volley(long n, size_t size)
{
    (void)size;
    while (n--)
        volley();
}
static void op_window(long n, size_t size)
{
    while (n--) {
        for (int i = 0; i < WINDOW; i++)
            post(0, side.memory, size);
        drain();
    }
}
static uint64_t dice = 1; /* the last random number */
/* The offset of a random word (xorshift). */
static size_t random_word(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice % (HEAP / 8) * 8;
}
static void op_words(long n, size_t size)
{
    (void)size;
    while (n--) {
        for (int i = 0; i < BURST; i++)
            inject(random_word(), dice);
        volley();
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Nanoseconds an iteration: median of BATCHES batch means. The last n is twice the number that took
 * half of a batch's share of the budget. */
static double timed(void (*op)(long, size_t), size_t size)
{
    double v[BATCHES];
    long n = 1;
    for (double t = 0; t < budget_ns / BATCHES / 2; n *= 2) {
        t = now();
        op(n, size);
        t = now() - t;
    }
    for (int b = 0; b < BATCHES; b++) {
        double t = now();
        op(n, size);
        v[b] = (now() - t) / n;
    }
    qsort(v, BATCHES, sizeof *v, ascending);
    return v[BATCHES / 2];
}

/* The other side: answers volleys until the first side sends a byte over the socket. While it waits
 * for a volley it checks the socket, by a system call, only every 10,000 polls. */
static void answer(int other)
{
    char over;
    while (recv(other, &over, 1, MSG_DONTWAIT) < 0) {
        for (int i = 0; i < 10000 && *side.word == side.turn; i++)
            reap();
        if (*side.word != side.turn) {
            side.turn++;
            inject(HEAP, side.turn);
        }
    }
}

static void row(const char *metric, size_t size, double value, const char *unit)
{
    printf("%s\t%zu\t%.6g\t%s\n", metric, size, value, unit);
    fflush(stdout);
}

/* On the first side: prints all rows. The data are not checked, so there are no errors; the row
 * says that the run was complete. */
static void measure(int other)
{
    static const size_t sizes[] = {4096, 65536, (size_t)1 << 20};
    row("p_pingpong_half", 8, timed(op_volley, 8) / 2e3, "us");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        row("put_nbi_bw", sizes[i], WINDOW * (double)sizes[i] / timed(op_window, sizes[i]), "GB/s");
    row("put_nbi_random_rate", 8, BURST * 1e3 / timed(op_words, 8), "Mop/s");
    row("errors", 0, 0, "count");
    if (write(other, "", 1) != 1)
        need(-FI_EIO, "end the other side");
}

/* Moves this process into a network namespace that `ip netns` has made. */
static void enter(const char *namespace)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        perror(path);
        exit(1);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    int pair[2], status = 0;
    if (argc < 6 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fprintf(stderr, "usage: raw PROVIDER NAMESPACE ADDRESS NAMESPACE ADDRESS [milliseconds]\n");
        return 2;
    }
    if (argc > 6)
        budget_ns = atof(argv[6]) * 1e6;
    pid_t child = fork();
    side.first = child > 0;
    int other = pair[side.first];
    close(pair[!side.first]);
    enter(argv[side.first ? 2 : 4]);
    open_side(argv[1], argv[side.first ? 3 : 5], other);
    if (!side.first) {
        answer(other);
        return 0;
    }
    measure(other);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
