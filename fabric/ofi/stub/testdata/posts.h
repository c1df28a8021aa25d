/*
 * posts.h: rules about what may be posted.
 */
#ifndef POSTS_H
#define POSTS_H

#include "side.h"

static void r5_send(void)
{
    both();
    say(named(fi_send(a.ep, a.memory, 33, NULL, a.other, &contexts[0])));
}

static void r5_recv(void)
{
    both();
    say(named(fi_recv(a.ep, a.memory, 33, NULL, FI_ADDR_UNSPEC, &contexts[0])));
}

static void r5_write(void)
{
    both();
    say(named(write_to(&a, &b, 8, NULL, b.key, FI_COMPLETION, &contexts[0])));
}

static void r6_inject(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

static void r6_injectdata(void)
{
    both();
    say(named(fi_inject_writedata(a.ep, a.memory, 8, 1, a.other, b.base, b.key)));
}

static void r6_flag(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_INJECT, NULL)));
}

static void r6d(void)
{
    both();
    say(named(fi_send(a.ep, a.memory, 8929, a.desc, a.other, &contexts[0])));
}

static void r6e(void)
{
    both();
    struct iovec iov = {a.memory, (size_t)(1 << 30) + 1};
    struct fi_rma_iov rma = {b.base, iov.iov_len, b.key};
    struct fi_msg_rma m = {.msg_iov = &iov,
                           .desc = &a.desc,
                           .iov_count = 1,
                           .addr = a.other,
                           .rma_iov = &rma,
                           .rma_iov_count = 1,
                           .context = &contexts[0]};
    say(named(fi_writemsg(a.ep, &m, FI_COMPLETION)));
}

static void r6_long(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 33, a.other)));
}

/* written has the handshake made. */
static void r6h(void)
{
    both();
    written(b.key);
    say(named(fi_inject_write(a.ep, a.memory, 5000, a.other, b.base, b.key)));
}

static void r6_vector(size_t count, size_t len, void *desc)
{
    struct iovec iov[2] = {{a.memory, len}, {a.memory + 64, len}};
    struct fi_rma_iov rma = {b.base, count * len, b.key};
    void *descs[2] = {desc, desc};
    struct fi_msg_rma m = {.msg_iov = iov,
                           .desc = descs,
                           .iov_count = count,
                           .addr = a.other,
                           .rma_iov = &rma,
                           .rma_iov_count = 1,
                           .context = &contexts[0]};
    say(named(fi_writemsg(a.ep, &m, FI_COMPLETION)));
}

static void r6i(void)
{
    both();
    r6_vector(2, 8, a.desc);
}

static void r6j(void)
{
    both();
    r6_vector(1, 0, NULL);
}

static void r7a(void)
{
    struct fi_context2 clean;
    both();
    memset(&clean, 0x77, sizeof clean);
    contexts[0] = clean;
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    say(memcmp(&contexts[0], &clean, sizeof clean) != 0 ? "written" : "left alone");
}

/* The context is the provider's until the completion. */
static void r7a_abort(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    memset(&contexts[0], 0x77, sizeof contexts[0]);
    next(&a, &b, &e, &err, 100);
    say("fine");
}

static void r7b(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, NULL), "write");
    say(next(&a, &b, &e, &err, 50) == 1 ? "completed" : "nothing");
}

static void r10c(void)
{
    both();
    for (int i = 0; i < 16; i++)
        must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[i]), "write");
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[16])));
}

static void r10d(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

static void r16a(void)
{
    both();
    for (size_t i = 0; i < info->tx_attr->size; i++)
        must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[i]), "fi_send");
    say(named(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[4096])));
}

/* Without a receive the sender waits; with one its message comes. */
static void r16d(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&a, &b, &e, &err, 20);
    if (ret != 0)
        say(ret == 1 ? "sent" : named(ret));
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    ret = next(&b, NULL, &e, &err, 1000);
    say(ret == 1 && e.op_context == &contexts[0] ? "waits" : "lost");
}

static void r16f(void)
{
    both();
    for (size_t i = 0; i < info->rx_attr->size; i++)
        must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[i]), "fi_recv");
    say(named(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0])));
}

/* Which of 64 postings are refused, as a number in digits of 0 and 1. */
static void refusals(void)
{
    char which[65] = "";
    both();
    for (int i = 0; i < 64; i++)
        which[i] = fi_inject(a.ep, a.memory, 8, a.other) == -FI_EAGAIN ? '1' : '0';
    say(which);
}

static void r16g(void)
{
    both();
    say(named(fi_cancel(&a.ep->fid, &contexts[0])));
}

static void r19a(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[0])));
}

static void r19b(void)
{
    both();
    say(named(fi_writedata(a.ep, a.memory, 8, a.desc, 1, a.other, b.base, b.key, &contexts[0])));
}

static void r19c(void)
{
    both();
    say(named(fi_inject_writedata(a.ep, a.memory, 8, 1, a.other, b.base, b.key)));
}

/* cxi grants FI_FENCE where it is asked for; who has none refuses the hints. */
static void r19h(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_FENCE;
    if (ask(h) != 0)
        must(ask(hints()), "fi_getinfo");
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_FENCE, &contexts[0])));
}

static void r19g(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 193, a.other)));
}

#endif
