/*
 * endpoint.h: one endpoint with its completion queue and address vector, as the Go side of this
 * package uses it. Functions return 0 or a negative error of libfabric.
 */
#ifndef SHMEMI_OFI_ENDPOINT_H
#define SHMEMI_OFI_ENDPOINT_H

#include "connected.h"
#include "load.h"
#include "native.h"

enum {
    FAILURES = 16,     /* failed operations whose texts are kept */
    FAILURE_LEN = 192, /* bytes of such a text */
    DROPPING = 8       /* the most reads of the queue in one poll that drop entries of other jobs */
};

/* The text of an operation's error. An array keeps the last FAILURES of them, so that the caller
 * can still read the text after the poll that returned the error. */
struct shmemi_ofi_failure {
    uint32_t token;
    int32_t err; /* 0: no failure here */
    char text[FAILURE_LEN];
};

#define NO_TOKEN UINT32_MAX

/* The uses of registered memory, and what a provider may demand of a registration. */
#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define REGISTRATION                                                                               \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)

/* The operands of an atomic operation, which may be read late, when it is carried out. */
struct shmemi_ofi_operand {
    uint64_t operand;
    uint64_t compare;
};

/* The PE of an address in the address vector. */
struct shmemi_ofi_source {
    fi_addr_t addr;
    int32_t pe;
};

/* Features that the caller requested, and that the provider may not have for all operations. */
enum {
    WITH_DELIVERY = 1, /* writes complete when their bytes are there */
    WITH_DATA = 2,     /* peers may write with immediate data */
    WITH_SOURCE = 4,   /* completions of immediate data name the writer */
    WITH_ARRIVAL = 8,  /* messages complete when they are at the target, but for injected ones */
    WITH_LINKS = 32,   /* an endpoint for each connection */
    WITH_BLOCKS = 16   /* bytes of aligned blocks become visible in order, if the NIC can do it */
};

struct shmemi_ofi {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_eq *eq; /* NULL: the provider needs none */

    struct shmemi_ofi_links
        *links; /* NULL: the provider has no connections, or makes them itself */

    uint32_t queue; /* capacity of cq, in completions */

    int queue_fd;  /* readable while poll has work; -1: the provider has none */
    int wake_fd;   /* an eventfd, by which shmemi_ofi_wake ends a wait */
    int events_fd; /* epoll over both */

    /* If fi_trywait does not clear the signal of the queue, queue_fd stays readable from the first
     * completion on. signal_stays is then 1. queue_fd is an epoll descriptor, and signal the event
     * data of the queue's signal in it. */
    int signal_stays;
    uint64_t signal;

    /* The context of an operation is at its token's index. */
    struct fi_context2 *contexts;
    uint8_t *kinds;  /* by token: enum shmemi_completion_kind */
    uint32_t tokens; /* each token is below it */

    /* By PE: its address in the vector. FI_ADDR_NOTAVAIL: it has none, or none yet. */
    fi_addr_t *peers;
    uint32_t npeers;

    /* The addresses of all peers, address_size bytes each, that are inserted into the address
     * vector at first use. All bytes 0: that PE has no address. NULL: all addresses are inserted
     * already. */
    char *addresses;
    size_t address_size;

    uint64_t write_flags; /* of each write */
    uint64_t send_flags;  /* of messages that go through fi_sendmsg */
    int data;             /* the queue may have completions of immediate data */
    int source;           /* these completions name the writer */

    /* The PEs by ascending address, to find the writer that a completion of data names. */
    struct shmemi_ofi_source *sources;
    uint32_t nsources;

    /* Operands of atomic operations, by token. NULL: none are posted. */
    struct shmemi_ofi_operand *operands;
    struct fid_mr *operands_mr;
    void *operands_desc;

    struct shmemi_ofi_region_test *region_test; /* of test_region.c; NULL: there was no test yet */

    int trouble;   /* an error of the event queue that poll has not reported; 0: none */
    unsigned idle; /* polls that have found nothing */

    int cuda_option, shm_option; /* the results of setting options of efa, see efa.c */
    int wants_blocks;            /* asks for the order of bytes within blocks */
    int block;                   /* bytes of each such block; 0: in any order */

    uint64_t strangers; /* entries of the queue that no operation here made, and were dropped */
    int unread; /* the last poll has dropped such entries, and has not read those after them */

    const char *failed; /* for errors: the call, or the object to be closed, that failed last */
    unsigned next_failure;
    struct shmemi_ofi_failure failures[FAILURES];
};

/* Makes hints for fi_getinfo with the features that this package needs. prov may be NULL: all
 * providers. With connects, the hints are for endpoints of one connection each. */
struct fi_info *shmemi_ofi_hints(const char *prov, uint64_t order, int connects);

/* Draws the key for memory that is to be registered, for providers that leave the choice to the
 * caller. It is random, since any process that knows it can read and write that memory. */
uint64_t shmemi_ofi_draw_key(const struct shmemi_ofi *o);

/* Reports whether the provider of info can delay the completion of a write until its bytes are at
 * the target. */
int shmemi_ofi_can_deliver(uint32_t version, const struct fi_info *info);

/* Stores the address of the NIC of info on the PCI bus in at: domain, bus, device and function.
 * Returns 1, or 0 if it is not known. */
int shmemi_ofi_pci(const struct fi_info *info, uint32_t at[4]);

/* Returns the speed of the NIC of info in bits per second; 0: not known. */
uint64_t shmemi_ofi_speed(const struct fi_info *info);

/*
 * Requests the same endpoint with one more capability from the provider of info. Returns the info
 * to open, for the caller to free, or NULL.
 */
struct fi_info *shmemi_ofi_with(uint32_t version, const struct fi_info *info, uint64_t capability);

/* Opens an endpoint, and takes over info; with has bits of WITH_. The completion queue has `queue`
 * entries, or fewer if the device grants no more, but at least `least`; o->queue is the number.
 * After an error o->failed names the call that has failed, and the caller has to call
 * shmemi_ofi_close. */
int shmemi_ofi_open(struct shmemi_ofi *o, struct fi_info *info, uint32_t tokens, uint32_t queue,
                    uint32_t least, unsigned with);
/* Closes what shmemi_ofi_open has opened. */
int shmemi_ofi_close(struct shmemi_ofi *o);
/* Adds a descriptor that ends waits when it is readable; how has flags of epoll. */
int shmemi_ofi_watch(struct shmemi_ofi *o, int fd, uint32_t how);

/* Writes the address by which peers reach the endpoint to addr. *len is the room there, and then
 * the size of the address. */
int shmemi_ofi_name(struct shmemi_ofi *o, void *addr, size_t *len);

/*
 * Allocates the state of n peers, all without an address. stored_size is the size of an address if
 * addresses are stored, and inserted into the address vector at first use, otherwise 0.
 */
int shmemi_ofi_peers(struct shmemi_ofi *o, uint32_t n, size_t stored_size);
/* Inserts the address of a PE into the address vector, or stores it for the first operation on the
 * PE. */
int shmemi_ofi_peer(struct shmemi_ofi *o, uint32_t pe, const void *addr);
/* Inserts the address of a PE into the address vector, before the first operation on it. */
int shmemi_ofi_first_contact(struct shmemi_ofi *o, uint32_t pe);
/* Called when all peers have their addresses: sorts the PEs by address, so that completions can
 * name the writer. */
int shmemi_ofi_learn_sources(struct shmemi_ofi *o);

/* Registers main memory for operations of this PE and of peers. */
int shmemi_ofi_register(struct shmemi_ofi *o, const void *base, size_t len, struct fid_mr **mr);
/* Makes a registered region usable; after an error it is not registered. */
int shmemi_ofi_enable(struct shmemi_ofi *o, struct fid_mr **mr);

/*
 * Requests the same endpoint with GPU memory from the provider of info. Returns the info to open,
 * for the caller to free, or NULL with a negative error of libfabric in *error.
 */
struct fi_info *shmemi_ofi_with_gpu(uint32_t version, const struct fi_info *info, int *error);

/* Registers memory of GPU number device: of the dma-buf fd from offset on, or, if fd is negative,
 * the memory that the provider finds at base. */
int shmemi_ofi_register_gpu(struct shmemi_ofi *o, const void *base, size_t len, int device, int fd,
                            uint64_t offset, struct fid_mr **mr);

/*
 * Tests that the NIC of this endpoint reaches a registered region by its key: it reads the first
 * and the last word and, with write, writes them back, so that no other thread or device may write
 * them meanwhile. It posts and polls for some seconds at most. After an error o->failed names the
 * failed operation.
 */
int shmemi_ofi_test_region(struct shmemi_ofi *o, struct fid_mr *mr, const void *base, size_t len,
                           int write);

/* Returns the key by which peers name a registered region. */
uint64_t shmemi_ofi_key(struct fid_mr *mr);
/* Returns the descriptor by which this PE's own operations name a registered region. It is an
 * opaque word: not every provider's descriptor is an address. */
uintptr_t shmemi_ofi_desc(struct fid_mr *mr);
/* Ends a registration. */
int shmemi_ofi_unregister(struct fid_mr *mr);

/* The next four functions post an operation whose completion has the token. desc is the descriptor
 * of the local memory. With inject the bytes are copied before the return, and there is no
 * completion. -FI_EAGAIN: the queue is full. */
int shmemi_ofi_recv(struct shmemi_ofi *o, void *buf, size_t len, uintptr_t desc, uint32_t token);
int shmemi_ofi_send(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len, uintptr_t desc,
                    uint32_t token, int inject);
int shmemi_ofi_write(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len, uintptr_t desc,
                     uint64_t remote, uint64_t key, uint32_t token, int inject);
int shmemi_ofi_read(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t len, uintptr_t desc,
                    uint64_t remote, uint64_t key, uint32_t token);

/* The next three functions post an operation with rarely used flags of libfabric: FI_FENCE and, for
 * a write, FI_REMOTE_CQ_DATA. A write with FI_INJECT has no completion. */
int shmemi_ofi_send_with(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len,
                         uintptr_t desc, uint32_t token, uint64_t flags);
int shmemi_ofi_write_with(struct shmemi_ofi *o, uint32_t pe, const void *buf, size_t len,
                          uintptr_t desc, uint64_t remote, uint64_t key, uint32_t token,
                          uint32_t data, uint64_t flags);
int shmemi_ofi_read_with(struct shmemi_ofi *o, uint32_t pe, void *buf, size_t len, uintptr_t desc,
                         uint64_t remote, uint64_t key, uint32_t token, uint64_t flags);

/* Makes an endpoint ready for atomic operations. */
int shmemi_ofi_open_atomics(struct shmemi_ofi *o);
/* Reports whether the endpoint has an atomic operation: op is a fabric.Op, width 4 or 8 bytes. */
int shmemi_ofi_has_atomic(struct shmemi_ofi *o, int op, int width);
/* Posts an atomic operation; result is for operations that fetch. */
int shmemi_ofi_atomic(struct shmemi_ofi *o, uint32_t pe, int op, int width, uint64_t operand,
                      uint64_t compare, void *result, uintptr_t desc, uint64_t remote, uint64_t key,
                      uint32_t token, uint64_t flags);

/* The functions below are for the other C files of the endpoint. */
/* Called by polls: records the completion of an operation of test_region.c. Returns 0 if the
 * context is that of another operation. */
int shmemi_ofi_region_tested(struct shmemi_ofi *o, const void *context, int err);
/* Moves completions of the program's operations, which were polled while a region was tested
 * (test_region.c), to c. Returns their number. If c is NULL, it moves none. */
int shmemi_ofi_kept_completions(struct shmemi_ofi *o, struct shmemi_completion *c, int max);
/* Returns the registration of the word that the tests of regions move, or NULL. */
struct fid *shmemi_ofi_test_word(struct shmemi_ofi *o);
/* Frees the state of these tests. The endpoint must be closed: an operation may be under way. */
void shmemi_ofi_end_region_tests(struct shmemi_ofi *o);
/* Polls without connections, so that it never returns SHMEMI_IN_GO: returns the completions that
 * were read during the test of a region first, then those of the queue. */
int shmemi_ofi_poll_all(struct shmemi_ofi *o, struct shmemi_completion *c, int max);
/* Polls only the completion queue and the event queue. */
int shmemi_ofi_poll_now(struct shmemi_ofi *o, struct shmemi_completion *c, int max);
/* Returns the error of an operation, corrected by the provider's own error number. */
int shmemi_ofi_blame(const struct shmemi_ofi *o, int err, int prov_errno);
/* Keeps efa from using its own shared memory for peers on this host. */
void shmemi_ofi_before_domain(struct fi_info *info);
/* Sets options of efa before its endpoint is enabled, and keeps the results for Go. */
void shmemi_ofi_before_enable(struct shmemi_ofi *o);
/* Opens an event queue if the provider is efa. */
int shmemi_ofi_open_events(struct shmemi_ofi *o);
/* Reports whether the event queue has an error that poll has not reported. Unless `now` is set, it
 * reads the queue at one in 1024 of its calls. */
int shmemi_ofi_events(struct shmemi_ofi *o, int now);
/* Makes c the completion that reports an error of the event queue. Returns 1, or 0 without one. */
int shmemi_ofi_trouble(struct shmemi_ofi *o, struct shmemi_completion *c);
/* Keeps the text of an error for shmemi_ofi_failure. NO_TOKEN: it is of no known operation. */
void shmemi_ofi_note_error(struct shmemi_ofi *o, uint32_t token, int err, const char *text,
                           int prov_errno);
/* Returns 0 if an operation may be posted, or its error. */
int shmemi_ofi_check(struct shmemi_ofi *o, uint32_t pe, uint32_t token);
/* Returns the endpoint for an operation on a checked PE, and the PE's address there. */
static inline struct fid_ep *shmemi_ofi_ep(const struct shmemi_ofi *o, uint32_t pe)
{
    return o->links != NULL ? o->links->eps[pe] : o->ep;
}
/* Returns the address of a PE in the address vector; FI_ADDR_UNSPEC for an operation on a
 * connection, which needs no address. */
static inline fi_addr_t shmemi_ofi_addr(const struct shmemi_ofi *o, uint32_t pe)
{
    return o->links != NULL ? FI_ADDR_UNSPEC : o->peers[pe];
}
/* Records the kind of the operation with a token, and returns its context for libfabric. */
void *shmemi_ofi_context(struct shmemi_ofi *o, uint32_t token, uint8_t kind);
/* Returns the token of a context, or NO_TOKEN for a context that is not of an operation. */
uint32_t shmemi_ofi_token(const struct shmemi_ofi *o, const void *context);
/* Returns the kind that shmemi_ofi_context has recorded for a token. */
uint8_t shmemi_ofi_kind(const struct shmemi_ofi *o, uint32_t token);
/* Makes c the completion of the error at the head of the queue. Returns 1; 0 if there is no error,
 * or if it was dropped because another job caused it; or a negative error after which the endpoint
 * is unusable: the queue is overrun, or an operation of this endpoint without a token failed. */
int shmemi_ofi_read_error(struct shmemi_ofi *o, struct shmemi_completion *c);
/* How many of one poll's reads of the queue have dropped entries of other jobs. */
struct shmemi_ofi_polls {
    uint64_t strangers; /* the endpoint's count of dropped entries after the last read */
    unsigned dropping;  /* reads that dropped some */
};

/*
 * Reports whether poll reads the queue again: after a full read, and after one that dropped
 * entries, since after these there may be completions that no descriptor reports any more. It stops
 * after DROPPING such reads, so that other jobs cannot keep a poll busy.
 */
static inline int shmemi_ofi_polls_again(struct shmemi_ofi *o, struct shmemi_ofi_polls *l, int full)
{
    if (o->strangers == l->strangers)
        return full;
    l->strangers = o->strangers;
    o->unread = ++l->dropping == DROPPING;
    return !o->unread;
}

/* Polls a completion queue that may have completions of immediate data. */
int shmemi_ofi_poll_data(struct shmemi_ofi *o, struct shmemi_completion *c, int max);

/* Reports whether a poll is known to have work now. A provider without a descriptor to wait on
 * cannot say that: then the result is 0. */
int shmemi_ofi_ready(void *self);

/* Returns the text of the last failure of a token, or NULL. */
const char *shmemi_ofi_failure(struct shmemi_ofi *o, uint32_t token);

#endif
