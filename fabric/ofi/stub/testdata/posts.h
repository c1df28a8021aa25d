/*
 * posts.h: rules about the operations that may be posted, and their limits.
 */
#ifndef POSTS_H
#define POSTS_H

#include "side.h"

/* Sends n bytes with the descriptor desc. "bare" is a post without one, which efa-direct takes for
 * up to 32 bytes, its inline size. It injects as many. */
static void send_some(size_t n, void *desc)
{
    both();
    say(named(fi_send(a.ep, a.memory, n, desc, a.other, &contexts[0])));
}

static void send_bare(void)
{
    send_some(33, NULL);
}

static void send_short_bare(void)
{
    send_some(32, NULL);
}

static void recv_bare(void)
{
    both();
    say(named(fi_recv(a.ep, a.memory, 33, NULL, FI_ADDR_UNSPEC, &contexts[0])));
}

static void write_bare(void)
{
    both();
    say(named(write_to(&a, &b, 8, NULL, b.key, FI_COMPLETION, &contexts[0])));
}

static void read_bare(void)
{
    both();
    say(named(fi_read(a.ep, a.memory, 8, NULL, a.other, b.base, b.key, &contexts[0])));
}

static void inject_write(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

static void inject_writedata(void)
{
    both();
    say(named(fi_inject_writedata(a.ep, a.memory, 8, 1, a.other, b.base, b.key)));
}

static void write_injected(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_INJECT, NULL)));
}

static void send_long(void)
{
    both();
    /* One byte more than efa-direct has in a message. */
    say(named(fi_send(a.ep, a.memory, 8929, a.desc, a.other, &contexts[0])));
}

/* A write of `count` pieces of len bytes, all with the descriptor desc. */
static void vector(size_t count, size_t len, void *desc)
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

static void write_long(void)
{
    both();
    vector(1, (size_t)(1 << 30) + 1, a.desc);
}

static void write_vector(void)
{
    both();
    vector(2, 8, a.desc);
}

static void nothing_bare(void)
{
    both();
    vector(1, 0, NULL);
}

static void inject_long(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 33, a.other)));
}

/* written has the handshake made. */
static void inject_above(void)
{
    both();
    written(b.key);
    say(named(fi_inject_write(a.ep, a.memory, 5000, a.other, b.base, b.key)));
}

static unsigned char clean[sizeof contexts[0]];

/* No address and no small number ends with this byte. */
static void post_clean(void)
{
    both();
    memset(clean, 0x77, sizeof clean);
    memcpy(&contexts[0], clean, sizeof clean);
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
}

static void context(void)
{
    post_clean();
    say(memcmp(&contexts[0], clean, sizeof clean) != 0 ? "written" : "left alone");
}

/* How many bytes of it may have changed. */
static void context_size(void)
{
    const unsigned char *now = (const unsigned char *)&contexts[0];
    size_t n = sizeof clean;
    post_clean();
    while (n > 0 && now[n - 1] == clean[n - 1])
        n--;
    say_number((long)n);
}

/* The context is the provider's until the completion. */
static void context_changed(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    post_clean();
    memset(&contexts[0], 0x78, sizeof contexts[0]);
    next(&a, &b, &e, &err, 2000);
    say("fine");
}

static void no_context(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, NULL), "write");
    say(next(&a, &b, &e, &err, LONG_MS) == 1 ? "completed" : "nothing");
}

static void send_queue(void)
{
    both();
    for (size_t i = 0; i < info->tx_attr->size; i++)
        must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[i]), "fi_send");
    say(named(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[4096])));
}

/* How many are taken, of more than any queue has room for. */
static void send_depth(void)
{
    enum { MOST = 5000 };
    long n = 0;
    both();
    while (n < MOST && fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[n]) == 0)
        n++;
    if (n == MOST)
        say("more");
    say_number(n);
}

static void receive_queue(void)
{
    both();
    for (size_t i = 0; i < info->rx_attr->size; i++)
        must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[i]), "fi_recv");
    say(named(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0])));
}

static void receive_depth(void)
{
    enum { MOST = 9000, CONTEXTS = sizeof contexts / sizeof contexts[0] };
    long n = 0;
    both();
    while (n < MOST &&
           fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[n % CONTEXTS]) == 0)
        n++;
    if (n == MOST)
        say("more");
    say_number(n);
}

/* Without a receive the sender waits; with one its message comes. */
static void no_receive(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&a, &b, &e, &err, LONG_MS);
    if (ret != 0)
        say(ret == 1 ? "sent" : named(ret));
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    ret = next(&b, NULL, &e, &err, 1000);
    say(ret == 1 && e.op_context == &contexts[0] ? "waits" : "lost");
}

enum { WAITING = 64 };

static void send_waiting(void)
{
    both();
    for (int i = 0; i < WAITING; i++)
        must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[i]), "fi_send");
}

static void receive_at_b(int n)
{
    for (int i = 0; i < n; i++)
        must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[WAITING + i]), "fi_recv");
}

static int arrived_at_b(int n)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int came = 0;
    while (came < n && next(&b, NULL, &e, &err, came == 0 ? 1000 : 20) == 1)
        came++;
    return came;
}

/* Half of the messages find a receive; then their target closes. */
static void receives_late(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int sent = 0, failed = 0;
    send_waiting();
    receive_at_b(WAITING / 2);
    if (arrived_at_b(WAITING) != WAITING / 2)
        say("another number came");
    must(fi_close(&b.ep->fid), "fi_close");
    for (int ret; sent + failed < WAITING && (ret = next(&a, NULL, &e, &err, 1000)) != 0;)
        *(ret == 1 ? &sent : &failed) += 1;
    say(sent == WAITING / 2 && failed == WAITING / 2 ? "half" : "another number ended");
}

/* Their endpoint closes: none is there for the receives. */
static void receives_never(void)
{
    send_waiting();
    pause_us(5000);
    must(fi_close(&a.ep->fid), "fi_close");
    receive_at_b(WAITING);
    if (arrived_at_b(1) != 0)
        say("one came");
    must(fi_close(&b.ep->fid), "fi_close");
    say("none");
}

/* The message is there before its receive. */
static void unexpected(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    a.memory[0] = 9;
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    if (next(&a, &b, &e, &err, 1000) != 1)
        say("not sent");
    next(&b, NULL, &e, &err, 5);
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    int ret = next(&b, NULL, &e, &err, 100);
    say(ret == 1 && e.op_context == &contexts[0] && b.memory[0] == 9 ? "kept" : "lost");
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

static void cancel(void)
{
    both();
    say(named(fi_cancel(&a.ep->fid, &contexts[0])));
}

static void write_data(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[0])));
}

static void writedata(void)
{
    both();
    say(named(fi_writedata(a.ep, a.memory, 8, a.desc, 1, a.other, b.base, b.key, &contexts[0])));
}

static void say_fenced(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_FENCE, &contexts[0])));
}

/* cxi grants FI_FENCE on request; a provider without it refuses the hints. */
static void write_fenced(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_FENCE;
    if (ask(h) != 0)
        must(ask(hints()), "fi_getinfo");
    say_fenced();
}

static void fence_not_asked(void)
{
    must(ask(hints()), "fi_getinfo");
    info->caps &= ~(uint64_t)FI_FENCE;
    info->tx_attr->caps &= ~(uint64_t)FI_FENCE;
    say_fenced();
}

static void inject_cxi(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 193, a.other))); /* cxi injects up to 192 bytes */
}

static const struct what posts[] = {
    {"send-bare", send_bare},
    {"send-short-bare", send_short_bare},
    {"recv-bare", recv_bare},
    {"write-bare", write_bare},
    {"read-bare", read_bare},
    {"inject-write", inject_write},
    {"inject-writedata", inject_writedata},
    {"write-injected", write_injected},
    {"send-long", send_long},
    {"write-long", write_long},
    {"vector", write_vector},
    {"nothing-bare", nothing_bare},
    {"inject-long", inject_long},
    {"inject-above", inject_above},
    {"context", context},
    {"context-size", context_size},
    {"context-changed", context_changed},
    {"no-context", no_context},
    {"send-queue", send_queue},
    {"send-depth", send_depth},
    {"receive-queue", receive_queue},
    {"receive-depth", receive_depth},
    {"no-receive", no_receive},
    {"receives-late", receives_late},
    {"receives-never", receives_never},
    {"unexpected", unexpected},
    {"refusals", refusals},
    {"cancel", cancel},
    {"data", write_data},
    {"writedata", writedata},
    {"fence", write_fenced},
    {"fence-not-asked", fence_not_asked},
    {"inject-cxi", inject_cxi},
    {NULL, NULL},
};

#endif
