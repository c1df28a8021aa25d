/*
 * data.h: rules about a write with data at its target.
 */
#ifndef DATA_H
#define DATA_H

#include "side.h"

/* Writes with data from a to b, and stores the completion of the data that b reads. */
static void told(struct fi_cq_data_entry *e, fi_addr_t *from)
{
    struct fi_cq_data_entry ignored;
    shake();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[1]),
         "write");
    for (int i = 0; i < 20000; i++) {
        fi_cq_read(a.cq, &ignored, 1);
        if (fi_cq_readfrom(b.cq, e, 1, from) == 1)
            return;
        pause_us(100);
    }
    say("nothing");
}

static struct fi_cq_data_entry tell(fi_addr_t *from)
{
    struct fi_cq_data_entry e;
    both();
    told(&e, from);
    return e;
}

static void data_context(void)
{
    fi_addr_t from = 99;
    say(tell(&from).op_context == NULL ? "NULL" : "a context");
}

static void data_flags(void)
{
    fi_addr_t from = 99;
    const uint64_t flags = tell(&from).flags;
    say(flags == (FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE) ? "all" : "other");
}

static void data_length(void)
{
    fi_addr_t from = 99;
    say_number((long)tell(&from).len);
}

/* The data that arrive, of those of 8 bytes (write_to). */
static void data_wide(void)
{
    fi_addr_t from = 99;
    char text[32];
    snprintf(text, sizeof text, "%llx", (unsigned long long)tell(&from).data);
    say(text);
}

static void data_source(void)
{
    fi_addr_t from = 99;
    tell(&from);
    say(from == b.other ? "filled" : "empty");
}

/* Whether the completion names the receive, and whether a message finds it afterwards. */
static void data_receive(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    struct fi_info *h = hints();
    fi_addr_t from = 99;
    h->mode |= FI_RX_CQ_DATA;
    must(ask(h), "fi_getinfo");
    both();
    must(fi_recv(b.ep, b.memory, 64, b.desc, FI_ADDR_UNSPEC, &contexts[7]), "fi_recv");
    told(&e, &from);
    if (e.op_context == &contexts[7])
        say("a receive");
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    if (next(&b, NULL, &e, &err, 1000) != 1 || e.op_context != &contexts[7])
        say("a receive is lost");
    say("NULL");
}

/* b takes data in receives, and a does not. */
static void unlike(void)
{
    char settings[256];
    must(ask(hints()), "fi_getinfo");
    open_side(&a);
    snprintf(settings, sizeof settings, "%s unsolicited=0", getenv("FAKE_NIC"));
    setenv("FAKE_NIC", settings, 1);
    open_side(&b);
    meet(&a, &b);
    meet(&b, &a);
    shake();
}

static void data_unlike(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    unlike();
    ssize_t ret =
        write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[1]);
    if (ret != 0)
        say(named(ret));
    if (next(&a, NULL, &e, &err, LONG_MS) == 1)
        say("without polling");
    for (int i = 0; i < 1000; i++) {
        if (fi_cq_read(b.cq, &e, 1) == 1)
            say(next(&a, &b, &e, &err, 1000) == 1 ? "when it polls" : "nothing");
        pause_us(100);
    }
    say("nothing");
}

/* The events at b for data that its device could not take. */
static void data_failed(void)
{
    static char text[64];
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err = {0};
    struct fi_eq_err_entry said = {0};
    uint32_t event;
    both();
    shake();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[1]),
         "write");
    if (next(&a, NULL, &e, &err, 2000) != 1)
        say("nothing");
    int ret = next(&b, NULL, &e, &err, 20);
    const bool bare =
        err.op_context == NULL && err.flags == (FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE);
    if (ret == 1)
        say("fine");
    if (ret != 0)
        snprintf(text, sizeof text, "a completion%s: %s", bare ? "" : " of something", named(ret));
    else if (b.eq != NULL && fi_eq_read(b.eq, &event, &e, sizeof e, 0) == -FI_EAVAIL &&
             fi_eq_readerr(b.eq, &said, 0) > 0)
        snprintf(text, sizeof text, "an event: %s", named(said.err));
    say(*text != 0 ? text : "silence");
}

static void data_failed_no_eq(void)
{
    with_eq = false;
    data_failed();
}

static const struct what data[] = {
    {"data-context", data_context},
    {"data-flags", data_flags},
    {"data-length", data_length},
    {"data-wide", data_wide},
    {"data-source", data_source},
    {"data-receive", data_receive},
    {"data-unlike", data_unlike},
    {"data-failed", data_failed},
    {"data-failed-no-eq", data_failed_no_eq},
    {NULL, NULL},
};

#endif
