/*
 * queues.h: rules about completion queues.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include "side.h"

static void cq_large(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    cq_size = 32769; /* a device of efa grants 32768 entries, unless FAKE_NIC says otherwise */
    say(named(open_cq(&a)));
}

/*
 * The most entries in b's queue after 17,000 writes with data, which is more than any default size,
 * while b did not read it.
 */
static void fill(size_t asked)
{
    enum { WRITES = 17000, UNDER_WAY = 64 };
    struct fi_cq_data_entry e[UNDER_WAY];
    void *idle[UNDER_WAY];
    int idles = 0;
    long posted = 0, done = 0, held = 0;
    while (idles < UNDER_WAY)
        idle[idles] = &contexts[idles], idles++;
    must(ask(hints()), "fi_getinfo");
    open_side(&a);
    cq_size = asked;
    must(open_domain(&b), "fi_domain");
    int ret = open_cq(&b);
    if (ret != 0)
        say(named(ret));
    make_ep(&b);
    enable(&b);
    meet(&a, &b);
    meet(&b, &a);
    shake();
    while (done < WRITES) {
        if (posted < WRITES && idles > 0 &&
            write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA,
                     idle[idles - 1]) == 0)
            posted++, idles--;
        ssize_t n = fi_cq_read(a.cq, e, UNDER_WAY);
        for (ssize_t i = 0; i < n; i++)
            idle[idles++] = e[i].op_context;
        done += n > 0 ? n : 0;
    }
    for (ssize_t n; (n = fi_cq_read(b.cq, e, UNDER_WAY)) > 0;)
        held += n;
    say_number(held);
}

static void cq_none(void)
{
    fill(0);
}

static void cq_few(void)
{
    fill(20);
}

/* Of 64 completions of data for a queue of 16. */
static void cq_full(void)
{
    static struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int came = 0;
    cq_size = 16;
    both();
    for (int i = 0; i < 64; i++) {
        while (write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA,
                        &contexts[i]) != 0)
            ;
        if (next(&a, NULL, &e, &err, 1000) != 1)
            say("no completion");
    }
    for (;;) {
        int ret = next(&b, NULL, &e, &err, 20);
        if (ret < 0)
            say(named(ret));
        if (ret == 0)
            break;
        came++;
    }
    fi_close(&a.ep->fid);
    fi_close(&b.ep->fid);
    say(came == 16 ? "lost" : "all");
}

static void open_with(enum fi_wait_obj wait)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = wait;
    say(named(open_cq(&a)));
}

static void wait_fd(void)
{
    open_with(FI_WAIT_FD);
}

static void wait_mutex(void)
{
    open_with(FI_WAIT_MUTEX_COND);
}

static void wait_remote(void)
{
    struct fi_info *h = hints();
    h->caps |= FI_REMOTE_COMM;
    must(ask(h), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_FD;
    say(named(open_cq(&a)));
}

/* A queue without a descriptor is waited for by fi_cq_sread alone. */
static void wait_unspec(void)
{
    struct fi_cq_data_entry e;
    int fd = -1;
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    wait_obj = FI_WAIT_UNSPEC;
    int ret = open_cq(&a);
    if (ret != 0)
        say(named(ret));
    make_ep(&a);
    enable(&a);
    a.other = 0;
    meet(&a, &a);
    if (fi_control(&a.cq->fid, FI_GETWAIT, &fd) == 0)
        say("a descriptor");
    must(write_to(&a, &a, 8, a.desc, a.key, FI_COMPLETION, &contexts[0]), "write");
    say(fi_cq_sread(a.cq, &e, 1, NULL, 2000) == 1 ? "sread alone" : "nothing");
}

/* Whether trywait sees an entry that was not read, and whether the descriptor stays readable. */
static void waits(void)
{
    struct fi_cq_data_entry e;
    int fd = -1;
    wait_obj = FI_WAIT_FD;
    both();
    struct fid *fid = &a.cq->fid;
    struct pollfd p = {.events = POLLIN};
    must(fi_control(fid, FI_GETWAIT, &fd), "FI_GETWAIT");
    p.fd = fd;
    must(fi_trywait(a.fabric, &fid, 1), "fi_trywait of an empty queue");
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    if (poll(&p, 1, 1000) != 1)
        say("not woken");
    int early = fi_trywait(a.fabric, &fid, 1);
    if (early != -FI_EAGAIN || poll(&p, 1, 0) != 1)
        say(early != -FI_EAGAIN ? "agrees" : "no longer readable");
    while (fi_cq_read(a.cq, &e, 1) != 1)
        ;
    if (poll(&p, 1, 0) != 1)
        say("taken back by reading");
    must(fi_trywait(a.fabric, &fid, 1), "fi_trywait after reading");
    say(poll(&p, 1, 0) == 0 ? "until trywait" : "stays");
}

/* b has an entry, for a has the completion of the write that brought it. */
static void read_nothing(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[0]),
         "write");
    if (next(&a, NULL, &e, &err, 2000) != 1)
        say("nothing");
    say(named(fi_cq_read(b.cq, NULL, 0)));
}

static void tagged(void)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    format = FI_CQ_FORMAT_TAGGED;
    say(named(open_cq(&a)));
}

static void error_unread(void)
{
    struct fi_cq_data_entry e;
    ssize_t ret = -FI_EAGAIN;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key + 1, FI_COMPLETION, &contexts[0]), "write");
    for (int i = 0; i < 20000 && ret == -FI_EAGAIN; i++) {
        ret = fi_cq_read(a.cq, &e, 1);
        pause_us(100);
    }
    if (ret != -FI_EAVAIL)
        say(named(ret));
    say(fi_cq_read(a.cq, &e, 1) == -FI_EAVAIL ? "stays" : "gone");
}

static const struct what queues[] = {
    {"cq-large", cq_large},
    {"cq-none", cq_none},
    {"cq-few", cq_few},
    {"cq-full", cq_full},
    {"wait-fd", wait_fd},
    {"wait-mutex", wait_mutex},
    {"wait-remote", wait_remote},
    {"wait-unspec", wait_unspec},
    {"wait", waits},
    {"read-nothing", read_nothing},
    {"tagged", tagged},
    {"error-unread", error_unread},
    {NULL, NULL},
};

#endif
