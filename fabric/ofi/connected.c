/*
 * connected.c: libfabric's message endpoints: one passive endpoint that listens, an event queue,
 * one receive context for all connections, and an endpoint for each connection. fabric/ofi/pair
 * decides, through connected.go, when they are made and closed.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* CHECKS: polls between two checks of the listening socket. READS: polls between two calls of
     * Go, which reads the event queue; that takes 1 us, a poll 0.3. READS_MOVING: the same during a
     * handshake. CHECKS and READS are multiples of READS_MOVING: shmemi_ofi_needs_go relies on
     * that.
     */
    CHECKS = 256,
    READS = 2048,
    READS_MOVING = 16
};

/*
 * Opens the objects that all connections share. The event queue has no descriptor to wait for, and
 * is only polled. From its first event on the descriptor would stay readable for good, and before
 * that it would become readable with each message, because libfabric 1.17 never clears it and lets
 * it watch the sockets of the domain, too.
 */
int shmemi_ofi_open_links(struct shmemi_ofi *o)
{
    struct shmemi_ofi_links *l = o->links;
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
    int ret;
    o->failed = "fi_srx_context";
    if ((ret = fi_srx_context(o->domain, o->info->rx_attr, &l->receives, NULL)) != 0)
        return ret;
    o->failed = "fi_eq_open";
    if ((ret = fi_eq_open(o->fabric, &attr, &l->eq, NULL)) != 0)
        return ret;
    o->failed = "fi_passive_ep";
    if ((ret = fi_passive_ep(o->fabric, o->info, &l->pep, NULL)) != 0)
        return ret;
    o->failed = "fi_pep_bind";
    if ((ret = fi_pep_bind(l->pep, &l->eq->fid, 0)) != 0)
        return ret;
    o->failed = "fi_listen";
    return fi_listen(l->pep);
}

/* Closes the passive endpoint, its event queue and the receive context, after all connections.
 * Returns the first error, with its object in o->failed. */
int shmemi_ofi_close_links(struct shmemi_ofi *o)
{
    struct shmemi_ofi_links *l = o->links;
    int first = 0;
    if (l == NULL)
        return 0;
    struct fid *order[] = {l->pep ? &l->pep->fid : NULL, l->receives ? &l->receives->fid : NULL,
                           l->eq ? &l->eq->fid : NULL};
    const char *name[] = {"passive endpoint", "receive context", "event queue"};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int ret = order[i] != NULL ? fi_close(order[i]) : 0;
        if (ret != 0 && first == 0) {
            first = ret;
            o->failed = name[i];
        }
    }
    free(l->eps);
    free(l->wants);
    free(l->wanted);
    free(l);
    o->links = NULL;
    return first;
}

/* Allocates the tables of connections with n PEs. No PE is reachable until its address is known. */
int shmemi_ofi_link_peers(struct shmemi_ofi *o, uint32_t n)
{
    struct shmemi_ofi_links *l = o->links;
    l->eps = calloc(n, sizeof(*l->eps));
    l->wants = calloc(n, sizeof(*l->wants));
    l->wanted = calloc(n, sizeof(*l->wanted));
    if (l->eps == NULL || l->wants == NULL || l->wanted == NULL)
        return -FI_ENOMEM;
    memset(l->wants, UNREACHABLE, n);
    o->npeers = n;
    return 0;
}

/* Returns the number of a connection, which was set as the context of its endpoint. */
static uint32_t number_of(fid_t fid)
{
    return (uint32_t)(uintptr_t)fid->context;
}

/* Reads the next event of the event queue into ev. Returns 1, 0 where there is none, or a negative
 * error. */
int shmemi_ofi_next_event(struct shmemi_ofi *o, struct shmemi_ofi_event *ev)
{
    _Alignas(struct fi_eq_cm_entry) unsigned char buf[sizeof(struct fi_eq_cm_entry) + CM_DATA];
    struct fi_eq_cm_entry *entry = (struct fi_eq_cm_entry *)buf;
    uint32_t event = 0;
    memset(ev, 0, sizeof *ev);
    /* If the start of a request is cut off, libfabric 1.17 reads a stale errno as the error, and
     * keeps the socket for good if that is EAGAIN. */
    errno = 0;
    ssize_t ret = fi_eq_read(o->links->eq, &event, buf, sizeof buf, 0);
    if (ret == -FI_EAGAIN)
        return 0;
    if (ret == -FI_EAVAIL) {
        struct fi_eq_err_entry e = {.err_data = ev->data, .err_data_size = CM_DATA};
        ret = fi_eq_readerr(o->links->eq, &e, 0);
        if (ret < 0)
            return ret == -FI_EAGAIN ? 0 : (int)ret;
        ev->kind = FAILED;
        ev->err = e.err > 0 ? e.err : FI_EOTHER;
        ev->conn = number_of(e.fid);
        /* Without data libfabric returns its own pointer, which is NULL. */
        ev->len = e.err_data == ev->data && e.err_data_size <= CM_DATA ? e.err_data_size : 0;
        return 1;
    }
    if (ret < (ssize_t)sizeof *entry)
        return ret < 0 ? (int)ret : -FI_EIO;
    ev->len = (size_t)ret - sizeof *entry;
    memcpy(ev->data, entry->data, ev->len);
    switch (event) {
    case FI_CONNREQ:
        ev->kind = REQUESTED;
        ev->info = entry->info;
        return 1;
    case FI_CONNECTED:
        ev->kind = REPLIED;
        break;
    default:
        ev->kind = SHUT;
    }
    ev->conn = number_of(entry->fid);
    return 1;
}

/* Makes the endpoint of a connection, ready to connect or to accept: all connections share a
 * receive context, a completion queue and an event queue. conn is its number in events. */
static int make_endpoint(struct shmemi_ofi *o, uint32_t conn, struct fi_info *info,
                         struct fid_ep **ep)
{
    int ret = fi_endpoint(o->domain, info, ep, (void *)(uintptr_t)conn);
    if (ret != 0)
        return ret;
    if ((ret = fi_ep_bind(*ep, &o->links->receives->fid, 0)) == 0 &&
        (ret = fi_ep_bind(*ep, &o->cq->fid, FI_TRANSMIT | FI_RECV)) == 0 &&
        (ret = fi_ep_bind(*ep, &o->links->eq->fid, 0)) == 0 && (ret = fi_enable(*ep)) == 0)
        return 0;
    fi_close(&(*ep)->fid);
    return ret;
}

/* Starts to connect to the address of a peer; data is passed to the peer with the request. conn is
 * the number by which events name the connection. Returns 0 and the endpoint, or a negative error.
 */
int shmemi_ofi_connect(struct shmemi_ofi *o, uint32_t conn, const void *addr, const void *data,
                       size_t len, struct fid_ep **ep)
{
    int ret = make_endpoint(o, conn, o->info, ep);
    if (ret != 0)
        return ret;
    if ((ret = fi_connect(*ep, addr, data, len)) != 0)
        fi_close(&(*ep)->fid);
    return ret;
}

/* Accepts a request to connect, with data for the other side. Frees the request in any case. */
int shmemi_ofi_accept(struct shmemi_ofi *o, uint32_t conn, struct fi_info *info, const void *data,
                      size_t len, struct fid_ep **ep)
{
    int ret = make_endpoint(o, conn, info, ep);
    if (ret == 0 && (ret = fi_accept(*ep, data, len)) != 0)
        fi_close(&(*ep)->fid);
    if (ret != 0) /* fi_reject frees what libfabric still has of the request */
        fi_reject(o->links->pep, info->handle, NULL, 0);
    fi_freeinfo(info);
    return ret;
}

/* Rejects a request to connect, with data for the other side, and frees the request. */
void shmemi_ofi_reject(struct shmemi_ofi *o, struct fi_info *info, const void *data, size_t len)
{
    fi_reject(o->links->pep, info->handle, data, len);
    fi_freeinfo(info);
}

/* Reads the addresses of both sides of a connection. */
int shmemi_ofi_addresses(struct fid_ep *ep, void *own, void *peer, size_t len)
{
    size_t n = len;
    int ret = fi_getname(&ep->fid, own, &n);
    return ret != 0 ? ret : fi_getpeer(ep, peer, &len);
}

/* Closes a connection. */
void shmemi_ofi_drop(struct fid_ep *ep)
{
    fi_close(&ep->fid);
}

/* Sends a word of the handshake as the immediate data of a write without bytes or a key. */
int shmemi_ofi_send_word(struct shmemi_ofi *o, struct fid_ep *ep, uint64_t word)
{
    struct fi_msg_rma msg = {.addr = FI_ADDR_UNSPEC, .context = &o->links->word_sent, .data = word};
    return (int)fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_INJECT);
}

/* Makes operations on a PE use ep; NULL: the next one makes Go connect. */
void shmemi_ofi_use(struct shmemi_ofi *o, uint32_t pe, struct fid_ep *ep)
{
    o->links->eps[pe] = ep;
    o->links->wants[pe] = 0;
}

/* Makes operations on a PE fail from now on: no connection with it will be made. */
void shmemi_ofi_unreachable(struct shmemi_ofi *o, uint32_t pe)
{
    o->links->eps[pe] = NULL;
    o->links->wants[pe] = UNREACHABLE;
}

/* Has Go make a connection to a PE, at the first operation on it. Returns the operation's error:
 * -FI_EAGAIN, or -FI_EHOSTUNREACH if the PE has no address or is lost. */
int shmemi_ofi_want(struct shmemi_ofi *o, uint32_t pe, uint32_t npeers)
{
    struct shmemi_ofi_links *l = o->links;
    if (pe >= npeers || l->wants[pe] == UNREACHABLE)
        return -FI_EHOSTUNREACH;
    if (l->wants[pe] == 0) {
        l->wants[pe] = WANTED;
        l->wanted[l->next_wanted++ % npeers] = pe; /* each PE is at most once in the ring */
        shmemi_ofi_call_go(l);
    }
    return -FI_EAGAIN;
}

/* Stores immediate data that is a word of the handshake, for Go to read later; returns 0 if it is
 * not one. If WORDS words wait for Go already, the word is dropped, and counted as an entry that no
 * operation of this process made. */
int shmemi_ofi_store_word(struct shmemi_ofi *o, uint64_t data)
{
    struct shmemi_ofi_links *l = o->links;
    if (!(data & WORD_MARK))
        return 0;
    shmemi_ofi_call_go(l);
    if (l->nwords < WORDS)
        l->words[l->nwords++] = data;
    else
        o->strangers++;
    return 1;
}

/* Reports whether the listening socket has a connection that libfabric has not accepted. */
int shmemi_ofi_request_waits(const struct shmemi_ofi_links *l)
{
    struct pollfd fd = {.fd = l->listens, .events = POLLIN};
    return l->listens >= 0 && poll(&fd, 1, 0) > 0;
}

/* Makes the next poll call Go (attention), which then serves the connections. */
void shmemi_ofi_call_go(struct shmemi_ofi_links *l)
{
    __atomic_store_n(&l->attention, 1, __ATOMIC_RELAXED);
}

/* Called when a wait has ended: makes the next poll call Go, even if nothing has arrived, because
 * events of connections do not end a wait. */
void shmemi_ofi_wait_ended(struct shmemi_ofi_links *l)
{
    __atomic_store_n(&l->woke, 1, __ATOMIC_RELAXED);
}

/* Reports whether this poll has to call Go for the connections: there is work for it, or enough
 * polls have passed to check the listening socket or the event queue. */
int shmemi_ofi_needs_go(struct shmemi_ofi_links *l)
{
    if (__atomic_load_n(&l->attention, __ATOMIC_RELAXED) ||
        __atomic_load_n(&l->woke, __ATOMIC_RELAXED))
        return 1;
    const unsigned polls = ++l->polls;
    if (polls % READS_MOVING != 0)
        return 0;
    if (!__atomic_load_n(&l->moving, __ATOMIC_RELAXED) && polls % READS != 0 &&
        (polls % CHECKS != 0 || !shmemi_ofi_request_waits(l)))
        return 0;
    shmemi_ofi_call_go(l); /* the poll from Go that follows must see it, too */
    return 1;
}

/* Called by Go before it serves the connections: clears the requests to call it, so that polls call
 * Go only for new work. */
void shmemi_ofi_go_called(struct shmemi_ofi_links *l)
{
    __atomic_store_n(&l->attention, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&l->woke, 0, __ATOMIC_RELAXED);
}

/* Called by Go when it has served the connections: stores what limits the next sleep. moving: a
 * handshake is under way; came: the event queue had an event. */
void shmemi_ofi_go_done(struct shmemi_ofi_links *l, int moving, int came)
{
    __atomic_store_n(&l->moving, moving, __ATOMIC_RELAXED);
    __atomic_store_n(&l->settled, !came, __ATOMIC_RELAXED);
}

/* Returns how long a wait of ns nanoseconds may sleep. Events of connections do not end a sleep, so
 * it is at most 5 ms during a handshake (moving), 1 s after the event queue was found empty
 * (settled), and 1 ms otherwise. */
int64_t shmemi_ofi_cap_sleep(const struct shmemi_ofi_links *l, int64_t ns)
{
    const int64_t ms = 1000 * 1000;
    const int64_t limit = __atomic_load_n(&l->moving, __ATOMIC_RELAXED)    ? 5 * ms
                          : __atomic_load_n(&l->settled, __ATOMIC_RELAXED) ? 1000 * ms
                                                                           : ms;
    return ns < limit ? ns : limit;
}
