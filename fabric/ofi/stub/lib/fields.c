/*
 * fields.c: the rules that set one attribute of an offer. Where a rule is switched off the
 * attribute has another value, the last column of the table below.
 */
#define _GNU_SOURCE
#include "offer.h"

#include <string.h>

enum part { INFO, TX, RX, EP, DOMAIN };

#define FIELD(part, type, member)                                                                  \
    part, offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define CAPS FIELD(INFO, fi_info, caps)
#define MODE FIELD(INFO, fi_info, mode)
#define FORMAT FIELD(INFO, fi_info, addr_format)
#define LENGTH FIELD(INFO, fi_info, src_addrlen)
#define TX_SIZE FIELD(TX, fi_tx_attr, size)
#define TX_IOV FIELD(TX, fi_tx_attr, iov_limit)
#define TX_RMA_IOV FIELD(TX, fi_tx_attr, rma_iov_limit)
#define TX_FLAGS FIELD(TX, fi_tx_attr, op_flags)
#define TX_ORDER FIELD(TX, fi_tx_attr, msg_order)
#define INJECT FIELD(TX, fi_tx_attr, inject_size)
#define RX_SIZE FIELD(RX, fi_rx_attr, size)
#define RX_IOV FIELD(RX, fi_rx_attr, iov_limit)
#define RX_ORDER FIELD(RX, fi_rx_attr, msg_order)
#define MESSAGE FIELD(EP, fi_ep_attr, max_msg_size)
#define PROTOCOL FIELD(EP, fi_ep_attr, protocol)
#define PROTOCOL_VERSION FIELD(EP, fi_ep_attr, protocol_version)
#define RAW_SIZE FIELD(EP, fi_ep_attr, max_order_raw_size)
#define WAR_SIZE FIELD(EP, fi_ep_attr, max_order_war_size)
#define WAW_SIZE FIELD(EP, fi_ep_attr, max_order_waw_size)
#define THREADING FIELD(DOMAIN, fi_domain_attr, threading)
#define CONTROL FIELD(DOMAIN, fi_domain_attr, control_progress)
#define DATA FIELD(DOMAIN, fi_domain_attr, data_progress)
#define RESOURCES FIELD(DOMAIN, fi_domain_attr, resource_mgmt)
#define AV_TYPE FIELD(DOMAIN, fi_domain_attr, av_type)
#define MR_MODE FIELD(DOMAIN, fi_domain_attr, mr_mode)
#define KEY_SIZE FIELD(DOMAIN, fi_domain_attr, mr_key_size)
#define DATA_SIZE FIELD(DOMAIN, fi_domain_attr, cq_data_size)
#define CQS FIELD(DOMAIN, fi_domain_attr, cq_cnt)
#define EPS FIELD(DOMAIN, fi_domain_attr, ep_cnt)
#define MRS FIELD(DOMAIN, fi_domain_attr, mr_cnt)

#define MESSAGES (FI_MSG | FI_SEND | FI_RECV)
#define EVERY_FLAG                                                                                 \
    (FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                       \
     FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE)
/* A queue size that is much shorter than any provider's. */
enum { SHORT = 64 };

static const struct {
    enum rule_id id;
    enum part part;
    size_t at, size;
    uint64_t off;
} fields[] = {
    {G1a, CAPS, MESSAGES},
    {G1b, CAPS, MESSAGES},
    {G2a, MODE, 0},
    {G2b, MODE, FI_CONTEXT2},
    {G3a, MR_MODE, 0},
    {G3b, MR_MODE, 0},
    {G4a, MESSAGE, 0},
    {G4b, MESSAGE, 0},
    {G5a, INJECT, 0},
    {G5c, INJECT, 0},
    {G6a, TX_IOV, 1},
    {G6a, RX_IOV, 1},
    {G6c, TX_IOV, 1},
    {G6c, RX_IOV, 1},
    {G6d, TX_RMA_IOV, 4},
    {G7, DATA_SIZE, 0},
    {G8a, TX_SIZE, SHORT},
    {G8b, RX_SIZE, SHORT},
    {G9, THREADING, FI_THREAD_DOMAIN},
    {G10a, CONTROL, FI_PROGRESS_AUTO},
    {G10a, DATA, FI_PROGRESS_AUTO},
    {G10b, CONTROL, FI_PROGRESS_MANUAL},
    {G10b, DATA, FI_PROGRESS_MANUAL},
    {G10c, CONTROL, FI_PROGRESS_MANUAL},
    {G10c, DATA, FI_PROGRESS_MANUAL},
    {G11a, RESOURCES, FI_RM_DISABLED},
    {G12a, AV_TYPE, FI_AV_MAP},
    {G13a, FORMAT, FI_FORMAT_UNSPEC},
    {G13b, LENGTH, 0},
    {G14a, PROTOCOL, FI_PROTO_UNSPEC},
    {G14b, PROTOCOL_VERSION, 0},
    {G14c, PROTOCOL_VERSION, 0},
    {G15, TX_FLAGS, EVERY_FLAG},
    {G30, CAPS, MESSAGES},
    {G31a, MR_MODE, 0},
    {G32, KEY_SIZE, 0},
    {G33, MESSAGE, 0},
    {G34, DATA_SIZE, 0},
    {G35a, WAW_SIZE, 0},
    {G35b, RAW_SIZE, SIZE_MAX},
    {G35b, WAR_SIZE, SIZE_MAX},
    {G35c, RAW_SIZE, 0},
    {G35c, WAR_SIZE, 0},
    {G36, TX_IOV, 4},
    {G36, RX_IOV, 4},
    {G36, TX_RMA_IOV, 4},
    {G37a, TX_SIZE, SHORT},
    {G37d, RX_SIZE, SHORT},
    {G39, AV_TYPE, FI_AV_TABLE},
    {G40, THREADING, FI_THREAD_DOMAIN},
    {G41, CONTROL, FI_PROGRESS_AUTO},
    {G41, DATA, FI_PROGRESS_AUTO},
    {G42, RESOURCES, FI_RM_DISABLED},
    {G43a, FORMAT, FI_FORMAT_UNSPEC},
    {G43b, LENGTH, 0},
    {G44a, PROTOCOL, FI_PROTO_UNSPEC},
    {G44b, PROTOCOL_VERSION, 0},
    {G45, TX_FLAGS, 0},
    {G46, MODE, FI_CONTEXT},
    {G47a, CQS, 0},
    {G47b, EPS, 0},
    {G47c, MRS, 0},
    {G60, TX_ORDER, 0},
    {G60, RX_ORDER, 0},
    {G61, INJECT, 0},
    {G62, DATA_SIZE, 0},
    {G64, MR_MODE, 0},
    {G65, MODE, FI_RX_CQ_DATA},
    {G66, TX_SIZE, SHORT},
    {G67, PROTOCOL, FI_PROTO_UNSPEC},
    {G69a, CONTROL, FI_PROGRESS_MANUAL},
    {G70, CAPS, MESSAGES},
};

/* Sets the attributes of an offer that rows of rules.tsv decide: to the row's value if the rule
 * holds, or to the value without it if the settings switch it off. */
void fields_set(const struct settings *s, enum kind kind, struct fi_info *i)
{
    void *const parts[] = {[INFO] = i,
                           [TX] = i->tx_attr,
                           [RX] = i->rx_attr,
                           [EP] = i->ep_attr,
                           [DOMAIN] = i->domain_attr};
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
        uint64_t value = fields[k].off;
        if (rule(s, kind, fields[k].id))
            value = (uint64_t)rule_value(fields[k].id);
        else if (!without(s, kind, fields[k].id))
            continue;
        /* The machines that this runs on are little endian. */
        memcpy((char *)parts[fields[k].part] + fields[k].at, &value, fields[k].size);
    }
}
