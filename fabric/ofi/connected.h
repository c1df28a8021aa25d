/*
 * connected.h: an endpoint that makes a connection with each peer. Go decides which connections are
 * made, and when (connected.go); here are the calls of libfabric, and the state that each operation
 * reads.
 */
#ifndef SHMEMI_OFI_CONNECTED_H
#define SHMEMI_OFI_CONNECTED_H

#include "load.h"

enum {
    CM_DATA = 256, /* most bytes of user data in a connection request */
    WORDS = 512    /* words of the handshake that may wait for Go: more than one poll reads */
};

/* Events: a request, the reply to a request of this endpoint, a request that failed, and the end of
 * a connection. */
enum { REQUESTED = 1, REPLIED, FAILED, SHUT };

struct shmemi_ofi_event {
    int kind;
    uint32_t conn;        /* the number of the connection; not of a request */
    struct fi_info *info; /* of a request: until it is accepted or rejected */
    int err;              /* of FAILED */
    size_t len;
    unsigned char data[CM_DATA];
};

/*
 * The 8 bytes of immediate data are the caller's 4, and above them the PE that writes. A word of
 * the handshake has the highest bit set, below that its kind (handshake.Word), then the PE, and its
 * proof in place of the caller's bytes.
 */
#define WORD_MARK (1ull << 63)
#define WORD_AT 60
#define PE_BITS 28

/* The connections of an endpoint. */
struct shmemi_ofi_links {
    struct fid_pep *pep;
    struct fid_ep *receives; /* the shared receive context */
    struct fid_eq *eq;
    uint32_t me;    /* number of this PE */
    int takes_data; /* Config.Data: the caller wants completions of immediate data */

    /* By PE: the endpoint that operations use. NULL: no connection, see shmemi_ofi_want. */
    struct fid_ep **eps;
    uint8_t *wants; /* by PE: 0, WANTED or UNREACHABLE */

    /* A ring of PEs on which operations need a connection, for Go to read: npeers entries, of which
     * those from first_wanted up to next_wanted, both modulo npeers, are in use. */
    uint32_t *wanted;
    uint32_t first_wanted, next_wanted;

    struct fi_context2 word_sent; /* of words of the handshake, whose completions are ignored */
    uint64_t words[WORDS];
    unsigned nwords;

    int listens;      /* the socket of pep; -1: it is not known */
    unsigned polls;   /* calls of shmemi_ofi_needs_go, one for each poll */
    uint64_t drained; /* polls that have emptied the completion queue */

    /* The thread that writes these four holds the endpoint's lock, except that the end of a wait
     * sets woke without it. A wait reads them without the lock, so they are atomic. */
    int attention; /* poll has something to do in Go */
    int woke;      /* a wait has ended since: poll reads the event queue, which has no descriptor */
    int moving;    /* a handshake is under way */
    int settled;   /* no event has arrived since the event queue was read and found empty */
};

enum { WANTED = 1, UNREACHABLE };

struct shmemi_ofi;

/* Opens the passive endpoint, its event queue and the receive context. */
int shmemi_ofi_open_links(struct shmemi_ofi *o);
/* Closes the passive endpoint, its event queue and the receive context, after all connections.
 * Returns the first error, with its object in o->failed. */
int shmemi_ofi_close_links(struct shmemi_ofi *o);
/* Allocates the tables of connections with n PEs. */
int shmemi_ofi_link_peers(struct shmemi_ofi *o, uint32_t n);

/* Reads the next event of the event queue into ev. Returns 1, 0 if there is none, or a negative
 * error. */
int shmemi_ofi_next_event(struct shmemi_ofi *o, struct shmemi_ofi_event *ev);

/* Starts to connect to the address of a peer, and sends data with the request. Returns 0 and the
 * endpoint in *ep, or a negative error. */
int shmemi_ofi_connect(struct shmemi_ofi *o, uint32_t conn, const void *addr, const void *data,
                       size_t len, struct fid_ep **ep);
/* Accepts a request, and sends data with the reply. It frees the request in any case. */
int shmemi_ofi_accept(struct shmemi_ofi *o, uint32_t conn, struct fi_info *info, const void *data,
                      size_t len, struct fid_ep **ep);
/* Rejects a request, sends data with the rejection, and frees the request. */
void shmemi_ofi_reject(struct shmemi_ofi *o, struct fi_info *info, const void *data, size_t len);
/* Reads the addresses of both sides of a connection, each into memory of len bytes. */
int shmemi_ofi_addresses(struct fid_ep *ep, void *own, void *peer, size_t len);
/* Closes a connection. */
void shmemi_ofi_drop(struct fid_ep *ep);
/* Sends a word of the handshake. Returns 0 or an error. */
int shmemi_ofi_send_word(struct shmemi_ofi *o, struct fid_ep *ep, uint64_t word);
/* Makes operations on a PE use ep; NULL: the next one makes Go connect. */
void shmemi_ofi_use(struct shmemi_ofi *o, uint32_t pe, struct fid_ep *ep);
/* Makes operations on a PE fail from now on: no connection with it will be made. */
void shmemi_ofi_unreachable(struct shmemi_ofi *o, uint32_t pe);

/* Called for an operation on a PE without a connection: has Go make one. Returns the operation's
 * error: -FI_EAGAIN, or -FI_EHOSTUNREACH if the PE has no address or is lost. */
int shmemi_ofi_want(struct shmemi_ofi *o, uint32_t pe, uint32_t npeers);
/* Stores immediate data that is a word of the handshake, for Go; returns 0 if it is not one. */
int shmemi_ofi_store_word(struct shmemi_ofi *o, uint64_t data);
/* Makes the next poll call Go. */
void shmemi_ofi_call_go(struct shmemi_ofi_links *l);
/* Called when a wait has ended: makes the next poll call Go, even if nothing has arrived, because
 * events of connections do not end a wait. */
void shmemi_ofi_wait_ended(struct shmemi_ofi_links *l);
/* Reports whether this poll has to call Go for the connections. */
int shmemi_ofi_needs_go(struct shmemi_ofi_links *l);
/* Called by Go before it serves the connections: clears the requests to call it, so that polls call
 * Go only for new work. */
void shmemi_ofi_go_called(struct shmemi_ofi_links *l);
/* Called by Go when it has served the connections: stores what limits the next sleep. moving: a
 * handshake is under way; came: the event queue had an event. */
void shmemi_ofi_go_done(struct shmemi_ofi_links *l, int moving, int came);
/* Reports whether the listening socket has a connection that libfabric has not accepted. */
int shmemi_ofi_request_waits(const struct shmemi_ofi_links *l);
/* Returns how long a wait that has ns nanoseconds left may sleep before it polls again. Events of
 * connections make no descriptor readable, so the sleep has a limit, which depends on what
 * shmemi_ofi_go_done has stored. */
int64_t shmemi_ofi_cap_sleep(const struct shmemi_ofi_links *l, int64_t ns);

#endif
