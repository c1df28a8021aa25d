/*
 * stub.h: the objects of the stub. The lock of a domain guards all that belongs to the domain; the
 * NIC's thread takes it as well.
 */
#ifndef STUB_H
#define STUB_H

#include "offer.h"
#include "settings.h"
#include "wire.h"

#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

/* A device's status of an operation, as the provider reports it (prov_errno). */
enum status {
    STATUS_OK = 0,
    STATUS_FLUSHED = 1,              /* the queue pair was closed */
    STATUS_SICK = R15h_VALUE,        /* internal error of the queue pair */
    STATUS_NO_HANDLE = R15i_VALUE,   /* the address was removed */
    STATUS_BAD_ADDRESS = R15g_VALUE, /* key or address are not the target's */
    STATUS_BAD_QPN = R15j_VALUE,     /* the endpoint is not there */
    STATUS_NOT_READY = 10,           /* the target had no receive */
    STATUS_SILENT = R15k_VALUE,      /* the target no longer replies */
    STATUS_UNKNOWN = R15n_VALUE,     /* the target does not know the sender */
    STATUS_NEVER = R15m_VALUE,       /* the target has never replied */
    /* The provider's own status for silence: after the handshake, and before (rules.tsv: R15l). */
    STATUS_SILENT_PEER = R15l_VALUE,
    STATUS_NO_HANDSHAKE = 4126
};

struct fabric {
    struct fid_fabric fid;
    struct settings set;
    enum kind kind;
};

struct eq {
    struct fid_eq fid;
    pthread_mutex_t lock;
    struct fi_eq_err_entry *errors; /* the oldest first */
    size_t n, capacity;
};

struct domain {
    struct fid_domain fid;
    struct domain *next; /* for the NIC's thread */
    struct fabric *fabric;
    struct fi_info *info;
    enum kind kind;
    uint32_t nic; /* its PCI bus */
    uint32_t api; /* version that the program was written for */
    pthread_mutex_t lock;
    struct ep *eps;
    struct region *regions[WIRE_REGIONS];
    uint64_t keys; /* keys drawn so far; without R14a they are the numbers from 1 on */
    int users;     /* objects that are open in it */
};

struct region {
    struct fid_mr fid;
    struct domain *domain;
    int slot;
    bool enabled;
    bool bound;
    bool gpu;
    bool unreached; /* the device does not know it (rules.tsv: R13f) */
    void *mapped;   /* a dma-buf, where it could be mapped */
    size_t mapped_len;
    struct wire_region peer; /* as peers see it */
};

struct completion {
    void *context;
    uint64_t flags, len, data;
    fi_addr_t source;
    int err, status;
    struct wire *counted; /* endpoint whose queue of the device has an entry for it; NULL: none */
    bool reported;        /* a read has reported this error */
};

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    enum fi_cq_format format;
    uint64_t id; /* number of the FIFO that wakes a waiting thread */
    int bell;    /* the FIFO's descriptor; -1: the queue has no wait object */
    bool armed;  /* the next entry makes the FIFO readable */
    uint64_t size;
    struct completion *entries; /* a ring */
    size_t capacity, head, tail;
    size_t moved; /* entries before it are the provider's, no longer the device's (efa) */
};

/* A peer as an endpoint sees it. */
struct peer {
    uint64_t id;
    struct mapping *map; /* NULL: not mapped yet, or not there */
    fi_addr_t addr;
    bool greeted;                    /* the reply of a handshake was sent to it */
    bool hello;                      /* the request for a handshake was sent to it */
    bool replied;                    /* it has sent its reply of the handshake */
    bool shm;                        /* it has an address in shm, too */
    bool backoff;                    /* its receiver was not ready (rules.tsv: R10) */
    struct op *first[2], *last[2];   /* operations that keep their order, in two classes */
    struct op *queued, *queued_last; /* operations that wait for the handshake */
    struct peer *next;               /* in the list of peers that no address vector has */
};

struct av {
    struct fid_av fid;
    struct domain *domain;
    struct peer **peers; /* by fi_addr_t; NULL: removed */
    size_t count, capacity;
    bool bound;      /* an endpoint is, or was, bound to it (efa) */
    uint32_t *index; /* a hash table of peers by id: an entry is the position in peers plus 1 */
    size_t index_capacity;
};

enum op_kind { OP_SEND, OP_WRITE, OP_READ, OP_ATOMIC, OP_CONTROL };
enum op_state {
    OP_FREE,      /* the record is not in use */
    OP_WAITING,   /* it is to be carried out when it is due, or in part was */
    OP_MOVED,     /* all bytes of a read or write are moved; it may still have to complete late */
    OP_REQUESTED, /* the target's processor has the request, and replies */
    OP_REPLIED    /* the reply has come; its status is in op->status */
};

struct op {
    struct op *next;         /* the next free operation, or the next one on the same peer */
    struct op *next_waiting; /* the next operation that waits for a receive of the same target */
    uint64_t token;          /* index in ep->ops, and above it how often that was used */
    uint64_t number;         /* its number among the endpoint's operations */
    size_t at;               /* place in the heap plus 1; 0: it is not there */
    enum op_kind kind;
    enum op_state state;
    struct ep *ep;
    struct peer *peer;
    void *context;
    uint64_t flags; /* of its completion */
    struct iovec iov[4];
    size_t iov_count;
    void *copy; /* of injected bytes */
    size_t len;
    uint64_t remote, key, data;
    uint64_t due; /* when it is due, in nanoseconds */
    size_t moved;
    bool begun; /* the last words of its blocks are there */
    unsigned tries;
    int order;     /* class whose operations keep their order; -1: none */
    bool fence;    /* begins when all before it on its peer are complete */
    bool has_data; /* it has immediate data for the target */
    bool data_put; /* the target has the immediate data */
    bool inject;   /* it has no completion */
    bool internal; /* of the provider itself (rules.tsv: R9) */
    bool ack;      /* the target's processor sends a reply */
    bool lost;     /* the peer was found gone once */
    int status;    /* of the target's reply */
    /* Atomic operations. */
    enum fi_op op;
    unsigned width;
    bool fetches;
    uint64_t operands[2]; /* operand, and value to compare with */
    void *result;
    struct record record;       /* of the provider itself */
    unsigned char scribble[64]; /* the provider's bytes in its context (rules.tsv: R7) */
};

struct receive {
    void *context;
    void *buf;
    size_t len;
};

/* A message that arrived before a receive was posted (efa). */
struct early {
    struct early *next;
    struct record record;
    size_t n;
    unsigned char bytes[];
};

struct ep {
    struct fid_ep fid;
    struct ep *next;
    struct domain *domain;
    struct fi_info *info;
    struct cq *tx, *rx;
    struct av *av;
    struct eq *eq;
    struct mapping *map; /* of its own file; NULL: not enabled */
    uint64_t ordinal;    /* its number among this process's endpoints */
    uint64_t posted;     /* posts so far, with those that were refused by chance (dice.c) */
    uint64_t numbers;    /* operations so far: op->number of the next one */
    struct op **ops, *free_ops;
    size_t op_capacity, op_count; /* of ops */
    size_t depth, high, active; /* of the send queue: its size, the most entries in use, and now */
    struct peer *strangers; /* peers that no address vector has, which get replies all the same */
    struct op **heap;       /* by due, then by number */
    size_t heap_len, heap_capacity;
    size_t before_handshake;  /* operations that wait for one (rules.tsv: R10) */
    struct receive *receives; /* a ring */
    size_t rx_size, rx_head, rx_tail;
    struct early *early, **early_end;
    bool cuda_permitted, shm_permitted, enabled;
    bool in_order; /* bytes of each aligned 128 become visible by ascending address, and once */
    bool shm;      /* it is open (shm.c) */
};

/* fabric.c */
int fabric_close(struct fid *fid);
uint64_t now_ns(void);

/* domain.c, mr.c, cq.c, av.c, eq.c, endpoint.c */
int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                void *context);
extern struct fi_ops_mr mr_ops;
int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
int ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
extern struct fi_ops_msg msg_ops;
extern struct fi_ops_rma rma_ops;
extern struct fi_ops_atomic atomic_ops;

void mr_publish(struct domain *d, struct ep *ep);

/* Puts a completion into a queue. The caller has reserved its entry in the device's queue, and
 * holds the lock of the domain. */
void cq_push(struct cq *cq, const struct completion *c);
/* Reports whether a caller may wait, since the next entry wakes it. */
bool cq_may_wait(struct cq *cq);
/* Does the work of a poll before it reads the queue: carries out operations that are due, and
 * handles what has arrived. */
void cq_progress(struct cq *cq);

struct peer *av_peer(struct av *av, fi_addr_t addr);
struct peer *av_find(struct av *av, uint64_t id); /* NULL: the vector lacks it */
bool peer_map(struct peer *p); /* maps its file, if that was not done; false: there is none */

void eq_error(struct ep *ep, int err,
              int status); /* reports an error of no operation (rules.tsv: R9) */

/* op.c: operations. The caller holds the lock of the domain. */
struct op *op_new(struct ep *ep, enum op_kind kind, struct peer *peer);
int op_copy(struct op *op); /* copies the bytes of iov */
uint64_t op_data(const struct ep *ep,
                 uint64_t data); /* the part of it that arrives (rules.tsv: R11) */
void op_post(struct ep *ep, struct op *op);
void op_control(struct ep *ep, struct peer *peer, const struct record *r);
struct op *op_find(struct ep *ep, uint64_t token);
void op_wait(struct ep *ep, struct op *op, uint64_t ns);
void op_drop(struct ep *ep, struct op *op);
void ep_carry(struct ep *ep, bool all);
uint64_t ep_due(const struct ep *ep); /* when its next operation is due; UINT64_MAX: never */

/* figures.c: sizes, as fi_getopt returns them. */
int ep_figure(const struct ep *ep, int name, size_t *value);
bool injects_writes(const struct ep *ep);

/* done.c: completes operations. */
void op_done(struct ep *ep, struct op *op);
void op_fail(struct ep *ep, struct op *op, int status);
bool nic_broken(struct ep *ep);
void scribble(struct ep *ep, struct op *op);
size_t
scribbled(const struct ep *ep); /* bytes of a context that the provider writes (rules.tsv: R7) */
int error_of(struct ep *ep, int status);
int reported_status(struct ep *ep, int status); /* prov_errno */
const char *status_text(enum kind kind, int status);

/* hello.c: the handshake of efa (rules.tsv: R10). */
int ep_accepts(struct ep *ep, struct peer *peer, bool rma, bool inject);
bool hello_try_queue(struct ep *ep, struct op *op);
void hello_replied(struct ep *ep, struct peer *peer);
void hello_reply(struct ep *ep, struct peer *peer);
struct peer *ep_peer(struct ep *ep, uint64_t id); /* in the address vector, or a stranger */

/* carry.c: performs an operation that is due. */
void carry(struct ep *ep, struct op *op);
int apply(struct mapping *m, uint64_t at, uint64_t key, enum fi_op op, unsigned width,
          const uint64_t operands[2], uint64_t *old);
struct wire_region *find_region(struct mapping *m, uint64_t at, uint64_t key, uint64_t len,
                                uint32_t use); /* the caller calls wire_release_region */

/* emulate.c: reads and writes by the target's processor (rules.tsv: R10, R11). */
bool unlike(const struct ep *ep, struct peer *peer);
bool emulated(const struct ep *ep, const struct op *op);
int emulate(struct ep *ep, struct op *op);
int emulated_move(struct ep *ep, const struct record *r);

/* rnr.c: waiting for a receive of the target. */
void rnr_wait(struct op *op);
uint64_t rnr_check(struct domain *held);
void rnr_forget(const struct ep *ep, const struct peer *peer);

/* arrive.c: handles the entries of an endpoint's ring. */
void arrive(struct ep *ep);
void reply(struct ep *ep, const struct record *r, int status, uint64_t data);
bool early_match(struct ep *ep);

/* shm.c: efa's transport within a host, and memory of GPUs. */
bool shm_of(const struct domain *d);
void shm_enable(struct ep *ep);
bool shm_inserts(const struct av *av);
bool shm_reaches(const struct ep *ep, const struct peer *peer);
void shm_check_inject(const struct ep *ep, const struct peer *peer);
void gpu_posted(struct ep *ep, const struct peer *peer, void *const *desc);

/* nic.c */
void nic_add(struct domain *d);
void nic_remove(struct domain *d);
void nic_kick(void);
void nic_fork_guard(struct domain *d);

/* dice.c: a random number that depends only on the seed, the endpoint and the operation. */
uint64_t dice(const struct ep *ep, uint64_t number, unsigned purpose);
enum { FOR_DELAY = 1, FOR_LATE, FOR_PIECES, FOR_AGAIN };
bool draw_refusal(struct ep *ep); /* whether a post is to return -FI_EAGAIN (the setting again=K) */

#endif
