/*
 * offers.c: a program that prints every attribute of an info in words, or makes requests that are
 * refused (asks.h, calls.h): offers WHAT [FABRIC].
 */
#include "asks.h"

struct name {
    uint64_t value;
    const char *name;
};

#define NAME(x)                                                                                    \
    {                                                                                              \
        (uint64_t)(x), #x                                                                          \
    }

static const struct name caps[] = {
    NAME(FI_MSG),           NAME(FI_TAGGED),       NAME(FI_RMA),          NAME(FI_ATOMIC),
    NAME(FI_SEND),          NAME(FI_RECV),         NAME(FI_READ),         NAME(FI_WRITE),
    NAME(FI_REMOTE_READ),   NAME(FI_REMOTE_WRITE), NAME(FI_SOURCE),       NAME(FI_MULTI_RECV),
    NAME(FI_DIRECTED_RECV), NAME(FI_LOCAL_COMM),   NAME(FI_REMOTE_COMM),  NAME(FI_HMEM),
    NAME(FI_RMA_EVENT),     NAME(FI_FENCE),        NAME(FI_NAMED_RX_CTX), NAME(FI_COLLECTIVE),
    NAME(FI_SOURCE_ERR),    NAME(FI_TRIGGER),      NAME(FI_VARIABLE_MSG), NAME(FI_MULTICAST),
    NAME(FI_RMA_PMEM),      NAME(FI_SHARED_AV),
};
static const struct name modes[] = {
    NAME(FI_CONTEXT),   NAME(FI_CONTEXT2), NAME(FI_RX_CQ_DATA),        NAME(FI_MSG_PREFIX),
    NAME(FI_ASYNC_IOV), NAME(FI_LOCAL_MR), NAME(FI_NOTIFY_FLAGS_ONLY), NAME(FI_RESTRICTED_COMP),
};
static const struct name flags[] = {
    NAME(FI_INJECT),
    NAME(FI_COMPLETION),
    NAME(FI_INJECT_COMPLETE),
    NAME(FI_MORE),
    NAME(FI_TRANSMIT_COMPLETE),
    NAME(FI_DELIVERY_COMPLETE),
    NAME(FI_MATCH_COMPLETE),
    NAME(FI_REMOTE_CQ_DATA),
    NAME(FI_FENCE),
    NAME(FI_COMMIT_COMPLETE),
};
static const struct name orders[] = {
    NAME(FI_ORDER_RAR),        NAME(FI_ORDER_RAW),        NAME(FI_ORDER_RAS),
    NAME(FI_ORDER_WAR),        NAME(FI_ORDER_WAW),        NAME(FI_ORDER_WAS),
    NAME(FI_ORDER_SAR),        NAME(FI_ORDER_SAW),        NAME(FI_ORDER_SAS),
    NAME(FI_ORDER_RMA_RAR),    NAME(FI_ORDER_RMA_RAW),    NAME(FI_ORDER_RMA_WAR),
    NAME(FI_ORDER_RMA_WAW),    NAME(FI_ORDER_ATOMIC_RAR), NAME(FI_ORDER_ATOMIC_RAW),
    NAME(FI_ORDER_ATOMIC_WAR), NAME(FI_ORDER_ATOMIC_WAW),
};
static const struct name registrations[] = {
    NAME(FI_MR_LOCAL),      NAME(FI_MR_VIRT_ADDR), NAME(FI_MR_ALLOCATED),  NAME(FI_MR_PROV_KEY),
    NAME(FI_MR_ENDPOINT),   NAME(FI_MR_HMEM),      NAME(FI_MR_MMU_NOTIFY), NAME(FI_MR_RMA_EVENT),
    NAME(FI_MR_COLLECTIVE), NAME(FI_MR_RAW),
};
static const struct name threadings[] = {
    NAME(FI_THREAD_UNSPEC), NAME(FI_THREAD_SAFE),       NAME(FI_THREAD_FID),
    NAME(FI_THREAD_DOMAIN), NAME(FI_THREAD_COMPLETION), NAME(FI_THREAD_ENDPOINT),
};
static const struct name progresses[] = {NAME(FI_PROGRESS_UNSPEC), NAME(FI_PROGRESS_AUTO),
                                         NAME(FI_PROGRESS_MANUAL)};
static const struct name resources[] = {NAME(FI_RM_UNSPEC), NAME(FI_RM_DISABLED),
                                        NAME(FI_RM_ENABLED)};
static const struct name vectors[] = {NAME(FI_AV_UNSPEC), NAME(FI_AV_MAP), NAME(FI_AV_TABLE)};
static const struct name types[] = {NAME(FI_EP_UNSPEC), NAME(FI_EP_RDM)};

#define IN(names) names, sizeof names / sizeof names[0]

/* Flags by their names, with commas between; a flag without a name as a number. */
static void some(const char *what, uint64_t value, const struct name *names, size_t n)
{
    const char *before = " ";
    printf("%s", what);
    for (size_t i = 0; i < n; i++) {
        if (!(value & names[i].value))
            continue;
        printf("%s%s", before, names[i].name);
        before = ",";
        value &= ~names[i].value;
    }
    if (value != 0)
        printf("%s0x%llx", before, (unsigned long long)value);
    printf("%s\n", *before == ' ' && value == 0 ? " 0" : "");
}

static void one(const char *what, uint64_t value, const struct name *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (names[i].value == value) {
            printf("%s %s\n", what, names[i].name);
            return;
        }
    printf("%s %llu\n", what, (unsigned long long)value);
}

static void number(const char *what, uint64_t value)
{
    one(what, value, NULL, 0);
}

static void print_queues(const struct fi_tx_attr *t, const struct fi_rx_attr *r)
{
    some("tx caps", t->caps, IN(caps));
    some("tx mode", t->mode, IN(modes));
    some("tx op_flags", t->op_flags, IN(flags));
    some("tx order", t->msg_order, IN(orders));
    number("tx completion order", t->comp_order);
    number("tx inject_size", t->inject_size);
    number("tx size", t->size);
    number("tx iov_limit", t->iov_limit);
    number("tx rma_iov_limit", t->rma_iov_limit);
    some("rx caps", r->caps, IN(caps));
    some("rx mode", r->mode, IN(modes));
    some("rx op_flags", r->op_flags, IN(flags));
    some("rx order", r->msg_order, IN(orders));
    number("rx completion order", r->comp_order);
    number("rx total_buffered_recv", r->total_buffered_recv);
    number("rx size", r->size);
    number("rx iov_limit", r->iov_limit);
}

static void print_endpoint(const struct fi_ep_attr *e)
{
    one("type", e->type, IN(types));
    number("protocol", e->protocol);
    number("protocol version", e->protocol_version);
    number("max_msg_size", e->max_msg_size);
    number("msg_prefix_size", e->msg_prefix_size);
    number("max_order_raw_size", e->max_order_raw_size);
    number("max_order_war_size", e->max_order_war_size);
    number("max_order_waw_size", e->max_order_waw_size);
    number("mem_tag_format", e->mem_tag_format);
    number("endpoint's tx_ctx_cnt", e->tx_ctx_cnt);
    number("endpoint's rx_ctx_cnt", e->rx_ctx_cnt);
    number("endpoint's auth_key_size", e->auth_key_size);
}

static void print_domain(const struct fi_domain_attr *d)
{
    printf("domain %s\n", d->name);
    one("threading", d->threading, IN(threadings));
    one("control progress", d->control_progress, IN(progresses));
    one("data progress", d->data_progress, IN(progresses));
    one("resource_mgmt", d->resource_mgmt, IN(resources));
    one("av_type", d->av_type, IN(vectors));
    some("mr_mode", (uint64_t)d->mr_mode, IN(registrations));
    number("mr_key_size", d->mr_key_size);
    number("cq_data_size", d->cq_data_size);
    number("cq_cnt", d->cq_cnt);
    number("ep_cnt", d->ep_cnt);
    number("tx_ctx_cnt", d->tx_ctx_cnt);
    number("rx_ctx_cnt", d->rx_ctx_cnt);
    number("max_ep_tx_ctx", d->max_ep_tx_ctx);
    number("max_ep_rx_ctx", d->max_ep_rx_ctx);
    number("max_ep_stx_ctx", d->max_ep_stx_ctx);
    number("max_ep_srx_ctx", d->max_ep_srx_ctx);
    number("cntr_cnt", d->cntr_cnt);
    number("mr_iov_limit", d->mr_iov_limit);
    some("domain's caps", d->caps, IN(caps));
    some("domain's mode", d->mode, IN(modes));
    number("auth_key_size", d->auth_key_size);
    number("max_err_data", d->max_err_data);
    number("mr_cnt", d->mr_cnt);
}

static void print(const struct fi_info *i)
{
    some("caps", i->caps, IN(caps));
    some("mode", i->mode, IN(modes));
    number("address format", i->addr_format);
    number("address length", i->src_addrlen);
    number("dest_addrlen", i->dest_addrlen);
    print_queues(i->tx_attr, i->rx_attr);
    print_endpoint(i->ep_attr);
    print_domain(i->domain_attr);
    printf("fabric %s\n", i->fabric_attr->name);
    printf("provider name %s\n", i->fabric_attr->prov_name);
    number("prov_version", i->fabric_attr->prov_version);
    number("api_version", i->fabric_attr->api_version);
    printf("device %s\n", i->nic->device_attr->name);
    number("MTU", i->nic->link_attr->mtu);
}

/* The offers as they are, whatever a program asks for; not the first, but the one after it. */
static void offered(int skip)
{
    must(fi_getinfo(api, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info), "fi_getinfo");
    for (; info != NULL; info = info->next)
        if ((fabric == NULL || strcmp(info->fabric_attr->name, fabric) == 0) && skip-- == 0) {
            print(info);
            return;
        }
    printf("not there\n");
}

static void granted(struct fi_info *h)
{
    must(ask(h), "fi_getinfo");
    print(info);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct fi_info *h;
    fabric = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        if (strcmp(what, asks[i].name) == 0)
            asks[i].run();
    h = hints();
    if (strcmp(what, "offered") == 0) {
        offered(0);
    } else if (strcmp(what, "second") == 0) {
        offered(1);
    } else if (strcmp(what, "usual") == 0) {
        granted(h);
    } else if (strcmp(what, "messages") == 0) {
        h->caps = FI_MSG;
        granted(h);
    } else if (strcmp(what, "atomics") == 0) {
        h->caps |= FI_ATOMIC;
        granted(h);
    } else if (strcmp(what, "no caps") == 0) {
        h->caps = 0;
        granted(h);
    } else if (strcmp(what, "map") == 0) {
        h->domain_attr->av_type = FI_AV_MAP;
        granted(h);
    } else if (strcmp(what, "order") == 0) {
        h->tx_attr->msg_order = h->rx_attr->msg_order = FI_ORDER_SAS;
        granted(h);
    } else {
        fprintf(stderr, "usage: offers WHAT [FABRIC]\n");
        return 2;
    }
    return 0;
}
