/*
 * asks.h: hints that a provider refuses, one at a time.
 */
#ifndef ASKS_H
#define ASKS_H

#include "calls.h"

static void with_caps(uint64_t more)
{
    struct fi_info *h = hints();
    h->caps |= more;
    say(named(ask(h)));
}

static void rma_event(void)
{
    with_caps(FI_RMA_EVENT);
}

static void fence(void)
{
    with_caps(FI_FENCE);
}

static void tagged(void)
{
    with_caps(FI_TAGGED);
}

static void atomic(void)
{
    with_caps(FI_ATOMIC);
}

static void directed(void)
{
    with_caps(FI_DIRECTED_RECV);
}

static void multi_recv(void)
{
    with_caps(FI_MULTI_RECV);
}

static void no_mode(void)
{
    struct fi_info *h = hints();
    h->mode = 0;
    say(named(ask(h)));
}

/* Without each of the bits that are offered; "some": not all of them are refused. */
static void no_registration(void)
{
    must(fi_getinfo(api, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info), "fi_getinfo");
    while (info->next != NULL && strcmp(info->fabric_attr->name, fabric) != 0)
        info = info->next;
    const int offered = info->domain_attr->mr_mode;
    const char *first = NULL;
    for (int bit = 1; bit <= offered; bit <<= 1) {
        if (!(offered & bit) || bit == FI_MR_HMEM)
            continue;
        struct fi_info *h = hints();
        h->domain_attr->mr_mode &= ~bit;
        const char *came = named(ask(h));
        if (first != NULL && strcmp(came, first) != 0)
            say("some");
        first = came;
    }
    say(first != NULL ? first : "nothing is offered");
}

/* With FI_MR_BASIC, whose name is a warning in the headers of libfabric 2, and other modes. */
static void basic_and(int others)
{
    struct fi_info *h = hints();
    h->domain_attr->mr_mode = 1 << 0 | others;
    say(named(ask(h)));
}

static void basic(void)
{
    basic_and(0);
}

static void basic_and_all(void)
{
    basic_and(MODE);
}

static void longer(bool tx)
{
    must(ask(hints()), "fi_getinfo");
    struct fi_info *h = hints();
    if (tx)
        h->tx_attr->size = info->tx_attr->size + 1;
    else
        h->rx_attr->size = info->rx_attr->size + 1;
    say(named(ask(h)));
}

static void longer_tx(void)
{
    longer(true);
}

static void longer_rx(void)
{
    longer(false);
}

static void progress(void)
{
    struct fi_info *h = hints();
    h->domain_attr->data_progress = FI_PROGRESS_AUTO;
    say(named(ask(h)));
}

static void op_flag(void)
{
    struct fi_info *h = hints();
    h->tx_attr->op_flags = FI_MATCH_COMPLETE;
    say(named(ask(h)));
}

static void address(bool source, size_t n)
{
    struct fi_info *h = hints();
    if (source) {
        h->src_addr = calloc(1, n);
        h->src_addrlen = n;
    } else {
        h->dest_addr = calloc(1, n);
        h->dest_addrlen = n;
    }
    say(named(ask(h)));
}

static void short_source(void)
{
    address(true, 16);
}

static void short_dest(void)
{
    address(false, 16);
}

static void whole_source(void)
{
    address(true, 32);
}

/* An old program's request for memory of GPUs fits one fabric, and the other does not have it. */
static void old_hmem(void)
{
    struct fi_info *h = hints();
    api = FI_VERSION(1, 17);
    h->caps |= FI_HMEM;
    h->domain_attr->mr_mode |= FI_MR_HMEM;
    const int ret = ask(h);
    say(ret == 0 ? info->fabric_attr->name : named(ret));
}

static void devices(void)
{
    char names[256] = "";
    const int ret = ask(hints());
    for (const struct fi_info *i = info; i != NULL; i = i->next) {
        strcat(names, *names != 0 ? " " : "");
        strcat(names, i->domain_attr->name);
    }
    say(ret == 0 ? names : named(ret));
}

static const struct {
    const char *name;
    void (*run)(void);
} asks[] = {
    {"FI_RMA_EVENT", rma_event},
    {"FI_FENCE", fence},
    {"FI_TAGGED", tagged},
    {"FI_ATOMIC", atomic},
    {"FI_DIRECTED_RECV", directed},
    {"FI_MULTI_RECV", multi_recv},
    {"no-mode", no_mode},
    {"no-registration", no_registration},
    {"no-local", no_local},
    {"basic", basic},
    {"basic-and-all", basic_and_all},
    {"longer-tx", longer_tx},
    {"longer-rx", longer_rx},
    {"progress", progress},
    {"op-flag", op_flag},
    {"short-source", short_source},
    {"short-dest", short_dest},
    {"whole-source", whole_source},
    {"old-hmem", old_hmem},
    {"devices", devices},
    {"largest", largest},
    {"inject-option", inject_option},
    {"inject-size", inject_size},
    {"wide", wide},
    {"wider", wider},
    {"vector-twice", vector_twice},
    {"vector-event", vector_event},
    {"vector-read", vector_read},
    {"vector-symmetric", vector_symmetric},
    {"vector-name", vector_name},
    {"vector-count", vector_count},
    {"empty-gid", empty_gid},
    {"short-name", short_name},
    {"transmits", transmits},
    {"receives", receives},
    {"wait-fd", wait_fd},
    {"unasked", unasked},
};

#endif
