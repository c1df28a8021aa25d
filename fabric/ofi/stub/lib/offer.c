/*
 * offer.c: what each provider offers when nothing is asked of it. The figures are those of the
 * providers' sources where rules.tsv names them, and else of machines that print them (fi_info
 * -v); fabric/sim has the same in its models.
 */
#define _GNU_SOURCE
#include "offer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES (FI_MSG | FI_SEND | FI_RECV)
#define MOVES (FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ANYWHERE (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define FI_ORDER_STRICT_BUT_READS                                                                  \
    (FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_RAW | FI_ORDER_RMA_RAW | \
     FI_ORDER_RMA_WAW)

static const struct {
    const char *fabric, *provider, *device; /* the device's format takes the NIC's number */
    enum rule_id caps, mode, order, mr_mode, message, inject, tx, rx, iov, data;
    uint32_t address, protocol;
    size_t rma_iov, key, ordered;
} figures[] = {
    [KIND_EFA] = {"efa", "efa", "rdmap%us%u-rdm", G1a, G2b, R1b, G3a, G4a, G5a, G8a, G8b, G6a, G7,
                  FI_ADDR_EFA, FI_PROTO_EFA, 1, 4, 0},
    [KIND_DIRECT] = {"efa-direct", "efa", "rdmap%us%u-rdm", G1b, G2a, RULES, G3b, G4b, G5c, G8a,
                     G8b, G6c, G7, FI_ADDR_EFA, FI_PROTO_EFA, 1, 4, 0},
    [KIND_CXI] = {"cxi", "cxi", "cxi%u", G30, G46, R19e, G31a, G33, R19f, G37b, G37b, G36, G34,
                  FI_ADDR_CXI, FI_PROTO_CXI, 1, 8, SIZE_MAX},
    /* As fabric/sim's verbs, where the table has nothing. */
    [KIND_VERBS] = {"IB-0xfe80000000000000", "verbs;ofi_rxm", "mlx5_%u", RULES, G65, RULES, G64,
                    RULES, G61, G66, G66, RULES, G62, FI_SOCKADDR_IN, FI_PROTO_RXM, 1, 4, SIZE_MAX},
};

/* A figure of the table, or another where it has none. */
static uint64_t figure(enum rule_id id, uint64_t otherwise)
{
    return id == RULES ? otherwise : (uint64_t)rule_value(id);
}

enum kind kind_of(const struct settings *s, const char *fabric)
{
    if (s->provider == EFA)
        return fabric != NULL && strcmp(fabric, "efa-direct") == 0 ? KIND_DIRECT : KIND_EFA;
    return s->provider == CXI ? KIND_CXI : KIND_VERBS;
}

struct fi_info *offer(const struct settings *s, enum kind kind, uint32_t nic)
{
    char device[64];
    struct fi_info *i = fi_dupinfo(NULL);
    if (i == NULL)
        return NULL;
    snprintf(device, sizeof device, figures[kind].device, kind <= KIND_DIRECT ? 16 * nic : nic,
             kind <= KIND_DIRECT ? 6U : 0U);
    i->caps = figure(figures[kind].caps, MESSAGES | MOVES | ANYWHERE | FI_TAGGED | FI_ATOMIC |
                                             FI_SOURCE | FI_FENCE | FI_HMEM);
    i->mode = figure(figures[kind].mode, 0);
    i->addr_format = figures[kind].address;
    i->src_addrlen = address_size(kind);
    i->src_addr = calloc(1, MOST_ADDRESS);
    address_make(kind, nic, 0, i->src_addr);
    i->tx_attr->caps = i->caps & ~(uint64_t)(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    i->rx_attr->caps = i->caps & ~(uint64_t)(FI_SEND | FI_READ | FI_WRITE);
    i->tx_attr->mode = i->rx_attr->mode = i->mode;
    i->tx_attr->op_flags = (uint64_t)rule_value(kind == KIND_CXI ? G45 : G15);
    i->rx_attr->op_flags = FI_COMPLETION;
    i->tx_attr->msg_order = i->rx_attr->msg_order =
        figure(figures[kind].order, kind == KIND_VERBS ? FI_ORDER_STRICT_BUT_READS : 0);
    i->tx_attr->inject_size = figure(figures[kind].inject, 0);
    i->tx_attr->size = figure(figures[kind].tx, 0);
    i->tx_attr->iov_limit = i->rx_attr->iov_limit =
        kind == KIND_EFA && rule(s, kind, G6b) ? figure(G6b, 0) : figure(figures[kind].iov, 4);
    i->tx_attr->rma_iov_limit = figures[kind].rma_iov;
    i->rx_attr->size = figure(figures[kind].rx, 0);
    i->ep_attr->type = FI_EP_RDM;
    i->ep_attr->protocol = figures[kind].protocol;
    i->ep_attr->protocol_version = kind == KIND_EFA ? (uint32_t)rule_value(G14b) : 1;
    i->ep_attr->max_msg_size = figure(figures[kind].message, 1 << 30);
    i->ep_attr->max_order_raw_size = figures[kind].ordered;
    i->ep_attr->max_order_war_size = figures[kind].ordered;
    i->ep_attr->max_order_waw_size = figures[kind].ordered;
    i->ep_attr->tx_ctx_cnt = i->ep_attr->rx_ctx_cnt = 1;
    struct fi_domain_attr *d = i->domain_attr;
    d->name = strdup(device);
    d->threading = FI_THREAD_SAFE;
    d->control_progress = d->data_progress =
        kind == KIND_DIRECT || kind == KIND_CXI ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    d->resource_mgmt = FI_RM_ENABLED;
    d->av_type = FI_AV_TABLE;
    d->mr_mode = (int)figure(figures[kind].mr_mode, 0);
    d->mr_key_size = figures[kind].key;
    d->cq_data_size = figure(figures[kind].data, 0);
    d->cq_cnt = d->ep_cnt = d->tx_ctx_cnt = d->rx_ctx_cnt = 256;
    d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
    d->mr_iov_limit = 1;
    d->mr_cnt = 4096;
    d->caps = ANYWHERE;
    i->fabric_attr->name = strdup(figures[kind].fabric);
    i->fabric_attr->prov_name = strdup(figures[kind].provider);
    i->fabric_attr->prov_version = FI_VERSION(s->release >> 8, (s->release & 255) * 10);
    i->nic = nic_make(device, 0x50 + nic, kind == KIND_EFA || kind == KIND_DIRECT ? EFA_MTU : 4096);
    return i;
}

/* The number of an endpoint has 40 bits, which every form of address has room for. */
size_t address_size(enum kind kind)
{
    return kind == KIND_CXI ? CXI_ADDRESS : kind == KIND_VERBS ? VERBS_ADDRESS : EFA_ADDRESS;
}

/*
 * A GID of the NIC, with a queue pair and its key; a NIC and a process on it; an IP address
 * with a port. 0 is the NIC's own address, without an endpoint.
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
