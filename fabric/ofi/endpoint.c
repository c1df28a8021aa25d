/*
 * endpoint.c: makes the hints for a provider, and opens and closes the endpoint. choose.go chooses
 * the provider.
 */
#define _GNU_SOURCE
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_TRIES 8 /* keys that are tried for one registration */

/*
 * Makes the hints for fi_getinfo. The caller of this package serialises posting, polling and
 * arming, and a domain has one endpoint: FI_THREAD_DOMAIN saves the provider's locks. The polling
 * thread makes progress, so the provider needs no thread for it.
 */
struct fi_info *shmemi_ofi_hints(const char *prov, uint64_t order, int connects)
{
    struct fi_info *h = fi_allocinfo();
    if (h == NULL)
        return NULL;
    h->caps = FI_MSG | FI_RMA;
    h->mode = FI_CONTEXT | FI_CONTEXT2;
    h->ep_attr->type = connects ? FI_EP_MSG : FI_EP_RDM;
    if (connects)
        h->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    h->tx_attr->msg_order = order;
    h->rx_attr->msg_order = order;
    h->domain_attr->threading = FI_THREAD_DOMAIN;
    h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    h->domain_attr->mr_mode = REGISTRATION;
    if (prov != NULL)
        h->fabric_attr->prov_name = strdup(prov);
    return h;
}

/*
 * Reports whether the provider can delay the completion of a write until its bytes are at the
 * target. A provider that grants this level as the default of an endpoint can. It is not made the
 * default here, because messages do not need it.
 */
int shmemi_ofi_can_deliver(uint32_t version, const struct fi_info *info)
{
    struct fi_info *h = fi_dupinfo(info), *list = NULL;
    if (h == NULL)
        return 0;
    h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    int ret = shmemi_ofi_getinfo(version, h, &list);
    fi_freeinfo(h);
    if (ret != 0)
        return 0;
    int can = list->tx_attr->op_flags & FI_DELIVERY_COMPLETE ? 1 : 0;
    fi_freeinfo(list);
    return can;
}

/* Stores the address of an offer's NIC on the PCI bus in at: domain, bus, device and function.
 * Returns 1, or 0 if it is not known. */
int shmemi_ofi_pci(const struct fi_info *info, uint32_t at[4])
{
    if (info->nic == NULL || info->nic->bus_attr == NULL ||
        info->nic->bus_attr->bus_type != FI_BUS_PCI)
        return 0;
    const struct fi_pci_attr *pci = &info->nic->bus_attr->attr.pci;
    at[0] = pci->domain_id;
    at[1] = pci->bus_id;
    at[2] = pci->device_id;
    at[3] = pci->function_id;
    return 1;
}

/* Returns the speed of an offer's NIC in bit/s; 0: not known. */
uint64_t shmemi_ofi_speed(const struct fi_info *info)
{
    return info->nic != NULL && info->nic->link_attr != NULL ? info->nic->link_attr->speed : 0;
}

/* Returns an info of the same provider with one more capability, which the caller frees; NULL if
 * the provider offers none. */
struct fi_info *shmemi_ofi_with(uint32_t version, const struct fi_info *info, uint64_t capability)
{
    struct fi_info *h = fi_dupinfo(info), *list = NULL, *got = NULL;
    if (h == NULL)
        return NULL;
    h->caps |= capability;
    h->tx_attr->caps = h->rx_attr->caps = 0; /* the provider derives them from h->caps */
    int ret = shmemi_ofi_getinfo(version, h, &list);
    fi_freeinfo(h);
    if (ret != 0)
        return NULL;
    /* libfabric takes the name in the hints for the name of a family, and may return another
     * provider of the family. */
    if ((list->caps & capability) == capability &&
        strcmp(list->fabric_attr->prov_name, info->fabric_attr->prov_name) == 0)
        got = fi_dupinfo(list);
    fi_freeinfo(list);
    return got;
}

/* Opens a completion queue of size entries, with a descriptor to wait on if the provider has
 * one. */
static int open_queue_of(struct shmemi_ofi *o, uint32_t size)
{
    struct fi_cq_attr attr = {.size = size,
                              .format = o->data ? FI_CQ_FORMAT_DATA : FI_CQ_FORMAT_MSG,
                              .wait_obj = FI_WAIT_FD};
    o->queue_fd = -1;
    if (fi_cq_open(o->domain, &attr, &o->cq, NULL) == 0) {
        struct fid *fid = &o->cq->fid;
        int ret = fi_trywait(o->fabric, &fid, 1);
        if ((ret != 0 && ret != -FI_EAGAIN) || fi_control(fid, FI_GETWAIT, &o->queue_fd) != 0)
            o->queue_fd = -1;
        return 0;
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(o->domain, &attr, &o->cq, NULL);
}

/*
 * Opens the completion queue with size entries, or with fewer if the device has no queue of that
 * size, but with at least `least`. Each next attempt is the power of two below, because devices
 * round a size up to a power of two.
 */
static int open_queue(struct shmemi_ofi *o, uint32_t size, uint32_t least)
{
    int ret = open_queue_of(o, size);
    while (ret == -FI_EINVAL && size > least) {
        uint32_t power = 1;
        while (power < size - power)
            power *= 2;
        size = power > least ? power : least;
        ret = open_queue_of(o, size);
    }
    o->queue = size;
    return ret;
}

/*
 * Finds out whether fi_trywait undoes the effect of fi_cq_signal, and so of each completion, on the
 * queue's descriptor. With net in libfabric 1.17 it does not: from its first completion on the
 * descriptor is readable for good, and a proxy that slept on it used 90 % of a core. The descriptor
 * is an epoll over the signal and the provider's sockets; the event of the signal is read here,
 * while there is no other.
 */
static void learn_signal(struct shmemi_ofi *o)
{
    struct epoll_event event;
    if (o->queue_fd < 0 || shmemi_ofi_ready(o) || fi_cq_signal(o->cq) != 0 || !shmemi_ofi_ready(o))
        return;
    if (epoll_wait(o->queue_fd, &event, 1, 0) != 1) {
        o->queue_fd = -1; /* it stays readable, and is not an epoll that could name the cause */
        return;
    }
    o->signal_stays = 1;
    o->signal = event.data.u64;
}

/*
 * Adds a descriptor to those that end a wait. The queue's descriptor counts by its level: no edge
 * reports again the entries that a poll has left unread. With edges alone a PE slept for seconds on
 * 20 MB that had arrived, and moved one write each time its sleep was over (docs/decisions/0005).
 *
 * If the signal stays (signal_stays), the level shows nothing. Then arm checks the descriptors
 * within queue_fd, and wait uses edges: arm has seen earlier events, and each arrival after it
 * makes an edge.
 */
int shmemi_ofi_watch(struct shmemi_ofi *o, int fd, uint32_t how)
{
    struct epoll_event event = {.events = EPOLLIN | how, .data.fd = fd};
    return fd < 0 || epoll_ctl(o->events_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Opens an endpoint and the objects that it needs. After an error o->failed names the call that has
 * failed, and the caller has to call shmemi_ofi_close. */
int shmemi_ofi_open(struct shmemi_ofi *o, struct fi_info *info, uint32_t tokens, uint32_t queue,
                    uint32_t least, unsigned with)
{
    int ret;
    *o = (struct shmemi_ofi){
        .info = info, .queue_fd = -1, .wake_fd = -1, .events_fd = -1, .tokens = tokens};
    o->write_flags = FI_COMPLETION | (with & WITH_DELIVERY ? FI_DELIVERY_COMPLETE : 0);
    o->send_flags = FI_COMPLETION | (with & WITH_ARRIVAL ? FI_DELIVERY_COMPLETE : 0);
    o->data = (with & WITH_DATA) != 0;
    o->source = (with & WITH_SOURCE) != 0;
    o->wants_blocks = (with & WITH_BLOCKS) != 0;
    o->failed = "calloc";
    if (with & WITH_LINKS) {
        if ((o->links = calloc(1, sizeof *o->links)) == NULL)
            return -FI_ENOMEM;
        o->links->listens = -1;
        o->links->takes_data = o->data;
        o->data = 1; /* words of the handshake arrive as immediate data */
    }
    o->contexts = calloc(tokens, sizeof(*o->contexts));
    o->kinds = calloc(tokens, sizeof(*o->kinds));
    o->failed = "calloc";
    if (o->contexts == NULL || o->kinds == NULL)
        return -FI_ENOMEM;
    o->failed = "eventfd";
    if ((o->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return -errno;
    o->failed = "epoll_create1";
    if ((o->events_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
        return -errno;
    o->failed = "fi_fabric";
    if ((ret = fi_fabric(info->fabric_attr, &o->fabric, NULL)) != 0)
        return ret;
    o->failed = "fi_domain";
    shmemi_ofi_before_domain(info);
    if ((ret = fi_domain(o->fabric, info, &o->domain, NULL)) != 0)
        return ret;
    o->failed = "fi_cq_open";
    if ((ret = open_queue(o, queue, least)) != 0)
        return ret;
    o->failed = "epoll_ctl";
    learn_signal(o);
    if ((ret = shmemi_ofi_watch(o, o->wake_fd, EPOLLET)) != 0 ||
        (ret = shmemi_ofi_watch(o, o->queue_fd, o->signal_stays ? EPOLLET : 0)) != 0)
        return ret;
    if (o->links != NULL)
        return shmemi_ofi_open_links(o);
    o->failed = "fi_av_open";
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    if ((ret = fi_av_open(o->domain, &av, &o->av, NULL)) != 0) {
        av.type = FI_AV_UNSPEC;
        if ((ret = fi_av_open(o->domain, &av, &o->av, NULL)) != 0)
            return ret;
    }
    o->failed = "fi_endpoint";
    if ((ret = fi_endpoint(o->domain, info, &o->ep, NULL)) != 0)
        return ret;
    o->failed = "fi_ep_bind";
    if ((ret = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV)) != 0 ||
        (ret = fi_ep_bind(o->ep, &o->av->fid, 0)) != 0)
        return ret;
    if ((ret = shmemi_ofi_open_events(o)) != 0)
        return ret;
    o->failed = "fi_enable";
    shmemi_ofi_before_enable(o);
    return fi_enable(o->ep);
}

/* Closes what shmemi_ofi_open has opened. An object that others still use cannot be closed, so the
 * order matters. */
int shmemi_ofi_close(struct shmemi_ofi *o)
{
    struct fid *order[] = {
        shmemi_ofi_test_word(o),
        o->operands_mr ? &o->operands_mr->fid : NULL,
        o->ep ? &o->ep->fid : NULL,
        o->eq ? &o->eq->fid : NULL,
        o->av ? &o->av->fid : NULL,
        o->cq ? &o->cq->fid : NULL,
        o->domain ? &o->domain->fid : NULL,
        o->fabric ? &o->fabric->fid : NULL,
    };
    const char *name[] = {"test word",      "operands",         "endpoint", "event queue",
                          "address vector", "completion queue", "domain",   "fabric"};
    int first = shmemi_ofi_close_links(o);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int ret = order[i] != NULL ? fi_close(order[i]) : 0;
        if (ret != 0 && first == 0) {
            first = ret;
            o->failed = name[i];
        }
    }
    if (o->events_fd >= 0)
        close(o->events_fd);
    if (o->wake_fd >= 0)
        close(o->wake_fd);
    if (o->info != NULL)
        fi_freeinfo(o->info);
    free(o->contexts);
    free(o->kinds);
    free(o->peers);
    free(o->addresses);
    free(o->sources);
    free(o->operands);
    shmemi_ofi_end_region_tests(o);
    const char *failed = o->failed;
    *o = (struct shmemi_ofi){.queue_fd = -1, .wake_fd = -1, .events_fd = -1, .failed = failed};
    return first;
}

/* Writes the endpoint's address to addr; with connections, the address of its listening socket. */
int shmemi_ofi_name(struct shmemi_ofi *o, void *addr, size_t *len)
{
    return fi_getname(o->links != NULL ? &o->links->pep->fid : &o->ep->fid, addr, len);
}

/* Allocates the state of n peers without an address. stored_size is the size of an address if
 * addresses are stored until the first operation on the PE, otherwise 0. */
int shmemi_ofi_peers(struct shmemi_ofi *o, uint32_t n, size_t stored_size)
{
    if (o->links != NULL)
        return shmemi_ofi_link_peers(o, n);
    o->address_size = stored_size;
    if (stored_size > 0 && (o->addresses = calloc(n, stored_size)) == NULL)
        return -FI_ENOMEM;
    if ((o->peers = calloc(n, sizeof(*o->peers))) == NULL)
        return -FI_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        o->peers[i] = FI_ADDR_NOTAVAIL;
    o->npeers = n;
    return 0;
}

/* Inserts a PE's address into the address vector. After an error the PE stays unreachable. */
static int insert(struct shmemi_ofi *o, uint32_t pe, const void *addr)
{
    int ret = fi_av_insert(o->av, addr, 1, &o->peers[pe], 0, NULL);
    if (ret == 1)
        return 0;
    o->peers[pe] = FI_ADDR_NOTAVAIL;
    return ret < 0 ? ret : -FI_EADDRNOTAVAIL;
}

/* Inserts the address of a PE into the address vector, or stores it for the first operation on the
 * PE. */
int shmemi_ofi_peer(struct shmemi_ofi *o, uint32_t pe, const void *addr)
{
    if (o->addresses == NULL)
        return insert(o, pe, addr);
    memcpy(o->addresses + pe * o->address_size, addr, o->address_size);
    return 0;
}

/* Inserts the address of a PE, which shmemi_ofi_peer has stored, into the address vector. Called
 * before the first operation on the PE. An address of zeros stands for a PE that has none. */
int shmemi_ofi_first_contact(struct shmemi_ofi *o, uint32_t pe)
{
    if (pe >= o->npeers || o->addresses == NULL)
        return -FI_EHOSTUNREACH;
    const char *addr = o->addresses + pe * o->address_size;
    for (size_t i = 0; i < o->address_size; i++)
        if (addr[i] != 0)
            return insert(o, pe, addr);
    return -FI_EHOSTUNREACH;
}

/* Draws a random key of the provider's size for memory that is to be registered. It is 0
 * only if the provider's keys have 0 bytes. */
uint64_t shmemi_ofi_draw_key(const struct shmemi_ofi *o)
{
    size_t size = o->info->domain_attr->mr_key_size;
    uint64_t key = 0;
    do {
        /* Where getrandom fails, the address of this variable, which is random, has to do. The
         * product with 2^64 divided by the golden ratio has random upper bits, too. */
        if (getrandom(&key, sizeof key, 0) != sizeof key)
            key ^= (uint64_t)(uintptr_t)&key * 0x9E3779B97F4A7C15u;
        if (size < sizeof key)
            key &= ((uint64_t)1 << (8 * size)) - 1;
    } while (size > 0 && key == 0);
    return key;
}

/* Registers memory for local use, reads and writes of peers. The requested key is random; where the
 * provider uses it, and says that it is in use, another key is drawn. */
int shmemi_ofi_register(struct shmemi_ofi *o, const void *base, size_t len, struct fid_mr **mr)
{
    o->failed = "fi_mr_reg";
    int ret = -FI_ENOKEY;
    /* Random keys of few bytes may be equal. */
    for (int tries = 0; ret == -FI_ENOKEY && tries < KEY_TRIES; tries++)
        ret = fi_mr_reg(o->domain, base, len, ACCESS, 0, shmemi_ofi_draw_key(o), 0, mr, NULL);
    return ret != 0 ? ret : shmemi_ofi_enable(o, mr);
}

/* Binds a registered region to the endpoint where the provider demands that (FI_MR_ENDPOINT). After
 * an error the registration is ended. */
int shmemi_ofi_enable(struct shmemi_ofi *o, struct fid_mr **mr)
{
    if (!(o->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
        return 0;
    o->failed = "fi_mr_bind";
    int ret = fi_mr_bind(*mr, &o->ep->fid, 0);
    if (ret == 0) {
        o->failed = "fi_mr_enable";
        ret = fi_mr_enable(*mr);
    }
    if (ret != 0)
        fi_close(&(*mr)->fid);
    return ret;
}

/* Returns the key by which peers name a registered region. */
uint64_t shmemi_ofi_key(struct fid_mr *mr)
{
    return fi_mr_key(mr);
}

/* Returns the descriptor by which this PE's own operations name a registered region. */
uintptr_t shmemi_ofi_desc(struct fid_mr *mr)
{
    return (uintptr_t)fi_mr_desc(mr);
}

/* Ends a registration. */
int shmemi_ofi_unregister(struct fid_mr *mr)
{
    return fi_close(&mr->fid);
}
