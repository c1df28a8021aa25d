/*
 * calls.h: calls that a provider refuses, one at a time, and its figures.
 */
#ifndef CALLS_H
#define CALLS_H

#include "side.h"

static void open_ep(void)
{
    if (info == NULL)
        must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    must(open_cq(&a), "fi_cq_open");
    make_ep(&a);
}

/* Prints the values of n options, by their numbers, because the headers may be older. */
static void options(const int *names, int n)
{
    open_ep();
    for (int i = 0; i < n; i++) {
        size_t value = 0, len = sizeof value;
        const int ret = fi_getopt(&a.ep->fid, FI_OPT_ENDPOINT, names[i], &value, &len);
        if (ret != 0)
            say(named(ret));
        printf("%zu%s", value, i + 1 < n ? " " : "");
    }
    say("");
}

static void largest(void)
{
    options((const int[]){12, 14}, 2); /* FI_OPT_MAX_MSG_SIZE and FI_OPT_MAX_RMA_SIZE */
}

static void inject_option(void)
{
    options((const int[]){18}, 1); /* FI_OPT_INJECT_RMA_SIZE */
}

static void inject_size(void)
{
    must(ask(hints()), "fi_getinfo");
    printf("%zu", info->tx_attr->inject_size);
    say("");
}

/* With a request for an inject size of n bytes: the size that is granted, whether that has made the
 * transmit queue shorter, and the result of such a write. */
static void widely(size_t n)
{
    struct fi_info *h = hints();
    must(ask(hints()), "fi_getinfo");
    const size_t queue = info->tx_attr->size;
    h->tx_attr->inject_size = n;
    const int ret = ask(h);
    if (ret != 0)
        say(named(ret));
    both();
    shake();
    const ssize_t came = fi_inject_write(a.ep, a.memory, n, a.other, b.base, b.key);
    printf("%zu, %s queue, ", info->tx_attr->inject_size,
           info->tx_attr->size < queue ? "a shorter" : "the same");
    say(named(came));
}

static void wide(void)
{
    widely(80);
}

static void wider(void)
{
    widely(81);
}

/* Two endpoints of one address vector. */
static void vector_twice(void)
{
    struct fid_ep *other;
    open_ep();
    must(fi_endpoint(a.domain, info, &other, NULL), "fi_endpoint");
    say(named(fi_ep_bind(other, &a.av->fid, 0)));
}

static void vector(uint64_t flags, const char *name)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = flags, .name = name};
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    say(named(fi_av_open(a.domain, &attr, &a.av, NULL)));
}

static void vector_event(void)
{
    vector(FI_EVENT, NULL);
}

static void vector_read(void)
{
    vector(FI_READ, NULL);
}

static void vector_symmetric(void)
{
    vector(FI_SYMMETRIC, NULL);
}

static void vector_name(void)
{
    vector(0, "vector");
}

static void vector_count(void)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = 10};
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    must(fi_av_open(a.domain, &attr, &a.av, NULL), "fi_av_open");
    printf("%zu", attr.count);
    say("");
}

static void empty_gid(void)
{
    char nothing[32] = {0};
    fi_addr_t at = 0;
    open_ep();
    const int n = fi_av_insert(a.av, nothing, 1, &at, 0, NULL);
    say(n == 0 && at == FI_ADDR_NOTAVAIL ? "fails, FI_ADDR_NOTAVAIL" : n == 1 ? "inserted" : "?");
}

static void short_name(void)
{
    char room[8];
    size_t len = sizeof room;
    open_ep();
    enable(&a);
    const int ret = fi_getname(&a.ep->fid, room, &len);
    printf("%s, %zu", named(ret), len);
    say("");
}

static void one_queue(uint64_t direction)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    must(open_cq(&a), "fi_cq_open");
    must(fi_av_open(a.domain, &av, &a.av, NULL), "fi_av_open");
    must(fi_endpoint(a.domain, info, &a.ep, NULL), "fi_endpoint");
    must(fi_ep_bind(a.ep, &a.av->fid, 0), "bind av");
    must(fi_ep_bind(a.ep, &a.cq->fid, direction), "bind cq");
    say(named(fi_enable(a.ep)));
}

static void transmits(void)
{
    one_queue(FI_TRANSMIT);
}

static void receives(void)
{
    one_queue(FI_RECV);
}

static void wait_fd(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_FD;
    say(named(open_cq(&a)));
}

/* A queue of which no size was asked; its size is in the log when its endpoint is closed. */
static void unasked(void)
{
    cq_size = 0;
    open_ep();
    enable(&a);
    say(named(fi_close(&a.ep->fid)));
}

static void no_local(void)
{
    must(ask(hints()), "fi_getinfo");
    info->domain_attr->mr_mode &= ~FI_MR_LOCAL;
    say(named(open_domain(&a)));
}

#endif
