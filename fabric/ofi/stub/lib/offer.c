/*
 * offer.c: the offer of each provider to empty hints. The figures are those of the providers'
 * sources where rules.tsv names them, and else of machines that print them (fi_info -v); fabric/sim
 * has the same in its models.
 */
#define _GNU_SOURCE
#include "offer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANYWHERE (FI_LOCAL_COMM | FI_REMOTE_COMM)

static const struct {
    const char *fabric, *provider, *device; /* the device's format takes the NIC's number */
    size_t key, ordered; /* bytes of a key, and of the largest operation that keeps its order */
} figures[] = {
    [KIND_EFA] = {"efa", "efa", "rdmap%us%u-rdm", 4, 0},
    [KIND_DIRECT] = {"efa-direct", "efa", "rdmap%us%u-rdm", 4, 0},
    [KIND_CXI] = {"cxi", "cxi", "cxi%u", 8, SIZE_MAX},
    [KIND_VERBS] = {"IB-0xfe80000000000000", "verbs;ofi_rxm", "mlx5_%u", 4, SIZE_MAX},
};

/* Returns the value of a rule in rules.tsv, or `otherwise` if id stands for no rule (RULES). */
static uint64_t figure(enum rule_id id, uint64_t otherwise)
{
    return id == RULES ? otherwise : (uint64_t)rule_value(id);
}

/* Returns the number of a rule, or `otherwise` where id names no rule or the rule is switched
 * off. */
static uint64_t figure_unless_off(const struct settings *s, enum kind kind, enum rule_id id,
                                  uint64_t otherwise)
{
    return id == RULES || without(s, kind, id) ? otherwise : figure(id, otherwise);
}

/* Returns the name of a provider's fabric; another one for efa's if a test has switched off the
 * rules that name them, R2c or R2d. */
static const char *fabric_name(const struct settings *s, enum kind kind)
{
    if (without(s, kind, R2c) || without(s, kind, R2d))
        return kind == KIND_DIRECT ? "EFA-direct" : "EFA";
    return figures[kind].fabric;
}

/* Returns the kind of endpoint of the provider's fabric with this name. */
enum kind kind_of(const struct settings *s, const char *fabric)
{
    if (s->provider == EFA)
        return fabric != NULL && strcmp(fabric, fabric_name(s, KIND_DIRECT)) == 0 ? KIND_DIRECT
                                                                                  : KIND_EFA;
    return s->provider == CXI ? KIND_CXI : KIND_VERBS;
}

/* Returns the bytes of the largest message that is one packet. */
size_t mtu(const struct settings *s, enum kind kind)
{
    if (s->provider == EFA && rule(s, kind, G4e))
        return (size_t)figure(G4e, 0);
    return 4096;
}

/* Limits the injected bytes to the room of a packet where shm is switched off (rule G5b): the MTU
 * without the largest header (G5g). */
static void inject_without_shm(const struct settings *s, enum kind kind, struct fi_info *i)
{
    const char *shm = getenv("FI_EFA_ENABLE_SHM_TRANSFER");
    if (shm == NULL || *shm != '0' || !rule(s, kind, G5b))
        return;
    i->tx_attr->inject_size = mtu(s, kind) - (rule(s, kind, G5g) ? figure(G5g, 0) : 0);
}

/* Returns the message order (FI_ORDER_ flags) that the imitated version of efa or cxi offers. It is
 * 0 for verbs, whose message order fields.c sets (rules.tsv: G60). */
static uint64_t message_order(const struct settings *s, enum kind kind)
{
    static const enum rule_id orders[] = {R1b, R19m, R19e, R19n};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (rule(s, kind, orders[i]))
            return figure(orders[i], 0);
    return 0;
}

/* Makes the offer of one kind of endpoint on one NIC to empty hints. */
struct fi_info *offer(const struct settings *s, enum kind kind, uint32_t nic)
{
    char device[64];
    struct fi_info *i = fi_dupinfo(NULL);
    if (i == NULL)
        return NULL;
    snprintf(device, sizeof device, figures[kind].device, kind <= KIND_DIRECT ? 16 * nic : nic,
             kind <= KIND_DIRECT ? 6U : 0U);
    i->src_addr = calloc(1, MAX_ADDRESS);
    address_make(kind, nic, 0, i->src_addr);
    i->addr_format = FI_SOCKADDR_IN;
    i->src_addrlen = address_size(kind);
    i->tx_attr->msg_order = i->rx_attr->msg_order = message_order(s, kind);
    i->tx_attr->inject_size = kind == KIND_CXI ? figure_unless_off(s, kind, R19f, 0) : 0;
    /* For verbs, for which no row has them: as in fabric/sim. */
    i->tx_attr->iov_limit = i->rx_attr->iov_limit = 4;
    i->tx_attr->rma_iov_limit = 1;
    i->tx_attr->op_flags = figure(G15, 0);
    i->rx_attr->op_flags = FI_COMPLETION;
    i->rx_attr->size = figure(G66, 0);
    i->ep_attr->type = FI_EP_RDM;
    i->ep_attr->protocol_version = 1;
    i->ep_attr->max_msg_size = 1 << 30;
    i->ep_attr->max_order_raw_size = figures[kind].ordered;
    i->ep_attr->max_order_war_size = figures[kind].ordered;
    i->ep_attr->max_order_waw_size = figures[kind].ordered;
    i->ep_attr->tx_ctx_cnt = i->ep_attr->rx_ctx_cnt = 1;
    struct fi_domain_attr *d = i->domain_attr;
    d->name = strdup(device);
    if (without(s, kind, R2b))
        d->name[strcspn(d->name, "-")] = 0;
    d->threading = FI_THREAD_SAFE;
    d->control_progress = d->data_progress = FI_PROGRESS_AUTO;
    d->resource_mgmt = FI_RM_ENABLED;
    d->av_type = FI_AV_TABLE;
    d->mr_key_size = kind <= KIND_DIRECT ? figure_unless_off(s, kind, R14c, 8) : figures[kind].key;
    const bool counts = !without(s, kind, G16); /* of efa's device: assumed */
    d->cq_cnt = d->ep_cnt = counts ? 256 : 0;
    d->mr_cnt = counts ? 4096 : 0;
    d->tx_ctx_cnt = d->rx_ctx_cnt = 256;
    d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
    d->mr_iov_limit = 1;
    d->caps = ANYWHERE;
    i->fabric_attr->name = strdup(fabric_name(s, kind));
    i->fabric_attr->prov_name = strdup(without(s, kind, G17) ? "unknown" : figures[kind].provider);
    i->fabric_attr->prov_version = FI_VERSION(s->release >> 8, (s->release & 255) * 10);
    i->nic = nic_make(device, FIRST_BUS + nic, mtu(s, kind));
    fields_set(s, kind, i);
    inject_without_shm(s, kind, i);
    i->tx_attr->caps = i->caps & ~(uint64_t)(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    i->rx_attr->caps = i->caps & ~(uint64_t)(FI_SEND | FI_READ | FI_WRITE);
    i->tx_attr->mode = i->rx_attr->mode = i->mode;
    return i;
}

/* Changes cxi's first offer into its second offer, for programs that choose the keys of their
 * memory. */
void offer_keys(const struct settings *s, struct fi_info *o)
{
    o->domain_attr->mr_mode = rule(s, KIND_CXI, G31b) ? (int)figure(G31b, 0) : 0;
    o->domain_attr->mr_key_size = 4;
}

/* Returns the bytes of an address. All forms have room for an endpoint's number, of 40 bits. */
size_t address_size(enum kind kind)
{
    return kind == KIND_CXI ? CXI_ADDRESS : kind == KIND_VERBS ? VERBS_ADDRESS : EFA_ADDRESS;
}

/*
 * Writes the address of endpoint id on a NIC, in the form of its provider: efa has a GID with a
 * queue pair, cxi a NIC and a process on it, verbs an IP address with a port. Number 0 is the NIC's
 * own address, without an endpoint.
 */
void address_make(enum kind kind, uint32_t nic, uint64_t id, void *addr)
{
    memset(addr, 0, address_size(kind));
    if (kind == KIND_VERBS) {
        struct sockaddr_in *in = addr;
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)id);
        in->sin_addr.s_addr = htonl(id == 0 ? 0x0ac80001 + nic : 0x0a000000 | (uint32_t)(id >> 16));
        return;
    }
    if (kind == KIND_CXI) {
        memcpy(addr, &id, sizeof id);
        memcpy((char *)addr + 5, &nic, 2);
        return;
    }
    uint8_t *gid = addr;
    gid[0] = 0xfe, gid[1] = 0x80, gid[8] = 0x02, gid[15] = (uint8_t)(nic + 1);
    memcpy(gid + 16, &id, 5);
}

/* Returns the id of the endpoint at an address, 0 if the address is not of this provider: for verbs
 * an IP address and port, for the others five bytes, which for efa follow a GID. */
uint64_t address_id(enum kind kind, const void *addr)
{
    uint64_t id = 0;
    if (kind == KIND_VERBS) {
        const struct sockaddr_in *in = addr;
        id = (uint64_t)(ntohl(in->sin_addr.s_addr) & 0xffffff) << 16 | ntohs(in->sin_port);
        return in->sin_family == AF_INET ? id : 0;
    }
    if (kind != KIND_CXI) {
        const uint8_t *gid = addr;
        if (gid[0] != 0xfe || gid[1] != 0x80)
            return 0;
        addr = gid + 16;
    }
    memcpy(&id, addr, 5);
    return id;
}
