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
#define ATOMIC_ORDER                                                                               \
    (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

static const struct {
    const char *fabric, *provider, *device; /* the device's format takes the NIC's number */
    uint64_t caps, mode, order;
    int mr_mode;
    uint32_t address, protocol;
    size_t message, inject, tx, rx, iov, rma_iov, data, key, ordered;
} figures[] = {
    [KIND_EFA] = {"efa", "efa", "rdmap%us%u-rdm",
                  MESSAGES | MOVES | ANYWHERE | FI_TAGGED | FI_ATOMIC | FI_SOURCE |
                      FI_MULTI_RECV | FI_DIRECTED_RECV,
                  0, FI_ORDER_SAS | ATOMIC_ORDER,
                  FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, FI_ADDR_EFA, FI_PROTO_EFA,
                  SIZE_MAX, 4096, 4096, EFA_RX, 4, 4, 4, 4, 0},
    [KIND_DIRECT] = {"efa-direct", "efa", "rdmap%us%u-rdm",
                     MESSAGES | MOVES | ANYWHERE | FI_SOURCE, FI_CONTEXT2, 0,
                     FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL,
                     FI_ADDR_EFA, FI_PROTO_EFA, 1 << 30, DIRECT_INJECT, 4096, EFA_RX, 2, 1, 4, 4,
                     0},
    [KIND_CXI] = {"cxi", "cxi", "cxi%u",
                  MESSAGES | MOVES | ANYWHERE | FI_TAGGED | FI_ATOMIC | FI_SOURCE | FI_FENCE |
                      FI_DIRECTED_RECV,
                  0, 0, FI_MR_ENDPOINT | FI_MR_ALLOCATED, FI_ADDR_CXI, FI_PROTO_CXI,
                  (1UL << 32) - 1, 192, 1024, 1024, 1, 1, 8, 8, SIZE_MAX},
    [KIND_VERBS] = {"IB-0xfe80000000000000", "verbs;ofi_rxm", "mlx5_%u",
                    MESSAGES | MOVES | ANYWHERE | FI_TAGGED | FI_ATOMIC | FI_SOURCE | FI_FENCE, 0,
                    FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_RMA_WAW,
                    FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL,
                    FI_SOCKADDR_IN, FI_PROTO_RXM, 1 << 30, 236, 512, 2048, 4, 4, 4, 4, SIZE_MAX},
};

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
    i->caps = figures[kind].caps | FI_HMEM;
    i->mode = figures[kind].mode;
    i->addr_format = figures[kind].address;
    i->src_addrlen = address_size(kind);
    i->src_addr = calloc(1, MOST_ADDRESS);
    address_make(kind, nic, 0, i->src_addr);
    i->tx_attr->caps = i->caps & ~(uint64_t)(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    i->rx_attr->caps = i->caps & ~(uint64_t)(FI_SEND | FI_READ | FI_WRITE);
    i->tx_attr->mode = i->rx_attr->mode = figures[kind].mode;
    i->tx_attr->op_flags =
        FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
    i->rx_attr->op_flags = FI_COMPLETION;
    i->tx_attr->msg_order = i->rx_attr->msg_order = figures[kind].order;
    if (kind == KIND_CXI)
        i->tx_attr->msg_order = i->rx_attr->msg_order = (uint64_t)rule_value(R19e);
    i->tx_attr->inject_size = figures[kind].inject;
    i->tx_attr->size = figures[kind].tx;
    i->tx_attr->iov_limit = i->rx_attr->iov_limit = figures[kind].iov;
    i->tx_attr->rma_iov_limit = figures[kind].rma_iov;
    i->rx_attr->size = figures[kind].rx;
    i->ep_attr->type = FI_EP_RDM;
    i->ep_attr->protocol = figures[kind].protocol;
    i->ep_attr->protocol_version = 1;
    i->ep_attr->max_msg_size = figures[kind].message;
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
    d->mr_mode = figures[kind].mr_mode;
    d->mr_key_size = figures[kind].key;
    d->cq_data_size = figures[kind].data;
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
