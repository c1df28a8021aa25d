/*
 * ends.h: rules about how operations end, and in which order.
 */
#ifndef ENDS_H
#define ENDS_H

#include <signal.h>

#include "side.h"

static void stranger(void)
{
    strangers = true;
    both();
    say(written(b.key));
}

/* b is gone before its first contact with a. */
static void lost(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    struct fi_eq_err_entry said = {0};
    uint32_t event;
    both();
    must(fi_close(&b.ep->fid), "close b");
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    for (int i = 0; i < LONG_MS; i++) {
        next(&a, NULL, &e, &err, 1);
        if (a.eq != NULL && fi_eq_read(a.eq, &event, &e, sizeof e, 0) == -FI_EAVAIL) {
            fi_eq_readerr(a.eq, &said, 0);
            say(named(said.err));
        }
    }
    say("silence");
}

static void lost_no_eq(void)
{
    with_eq = false;
    lost();
}

static void inject_error(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_inject(a.ep, a.memory, 8, a.other), "fi_inject");
    int ret = next(&a, NULL, &e, &err, LONG_MS);
    say(ret == 0 ? "nothing" : err.op_context == NULL ? "without context" : "with context");
}

/* The device's status, by the provider's number of an error. */
static void say_status(int ret, const struct fi_cq_err_entry *err)
{
    if (ret >= 0)
        say("no error");
    say_number(err->prov_errno);
}

static int send_to_gone(struct fi_cq_err_entry *err)
{
    struct fi_cq_data_entry e;
    must(fi_close(&b.ep->fid), "close b");
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[0]), "fi_send");
    return next(&a, NULL, &e, err, 2000);
}

static void gone(void)
{
    struct fi_cq_err_entry err;
    both();
    shake();
    int ret = send_to_gone(&err);
    say(ret == 0 ? "nothing" : named(ret));
}

static void gone_status(void)
{
    struct fi_cq_err_entry err;
    both();
    shake();
    say_status(send_to_gone(&err), &err);
}

static void gone_early_status(void)
{
    struct fi_cq_err_entry err;
    both();
    say_status(send_to_gone(&err), &err);
}

static void write_status(uint64_t key)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    must(write_to(&a, &b, 8, a.desc, key, FI_COMPLETION, &contexts[0]), "write");
    int ret = next(&a, &b, &e, &err, 2000);
    say_status(ret, &err);
}

static void bad_key(void)
{
    both();
    say(written(b.key + 1));
}

static void key_status(void)
{
    both();
    write_status(b.key + 1);
}

static void stranger_status(void)
{
    strangers = true;
    both();
    write_status(b.key);
}

/* The message waits for a receive when its target is removed. */
static void removed_status(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[0]), "fi_send");
    must(fi_av_remove(a.av, &a.other, 1, 0), "fi_av_remove");
    int ret = next(&a, NULL, &e, &err, 2000);
    say_status(ret, &err);
}

/*
 * Operations posted when their endpoint is closed: a message that its target would have to poll
 * for, or to post a receive, and a receive, which efa has not given to the device.
 */
static void closed(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    static char text[64];
    int n = 0, last = 0;
    both();
    const size_t len = info->ep_attr->max_msg_size > 1 << 30 ? 16384 : 8;
    must(fi_recv(a.ep, a.memory, 8, a.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    must(fi_send(a.ep, a.memory, len, a.desc, a.other, &contexts[1]), "fi_send");
    must(fi_close(&a.ep->fid), "close a");
    for (int ret; (ret = next(&a, NULL, &e, &err, 5)) != 0; n++)
        last = ret;
    snprintf(text, sizeof text, "%d %s", n, named(last));
    say(n == 0 ? "nothing" : text);
}

static void truncated(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    must(fi_send(a.ep, a.memory, 16, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&b, &a, &e, &err, 1000);
    say(ret == 1 ? "fine" : named(ret));
}

/* The order of 64 writes by their completions, and of 64 messages by their contents. */
static void completion_order(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int ordered = 1;
    both();
    shake();
    for (int i = 0; i < 64; i++)
        must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[i]), "write");
    for (int i = 0; i < 64; i++) {
        if (next(&a, &b, &e, &err, 1000) != 1)
            say("nothing");
        ordered = ordered && e.op_context == &contexts[i];
    }
    say(ordered ? "in order" : "any");
}

static void message_order(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    int ordered = 1;
    both();
    for (int i = 0; i < 64; i++)
        must(fi_recv(b.ep, b.memory + 8 * i, 8, b.desc, FI_ADDR_UNSPEC, &contexts[i]), "fi_recv");
    for (int i = 0; i < 64; i++) {
        a.memory[8 * i] = (char)i;
        must(fi_send(a.ep, a.memory + 8 * i, 8, a.desc, a.other, &contexts[64 + i]), "fi_send");
    }
    pause_us(2000);
    for (int i = 0; i < 64; i++) {
        if (next(&b, NULL, &e, &err, 1000) != 1)
            say("nothing");
        ordered = ordered && b.memory[8 * i] == (char)i;
    }
    say(ordered ? "in order" : "any");
}

enum { PAGE = 4096, PAGES = 8 };
static volatile int touched, touches[2 * PAGES];

/* The device writes a page that no other write may touch until this one has. */
static void touch(int number, siginfo_t *at, void *unused)
{
    char *from = b.memory + HALF, *page = at->si_addr;
    (void)number, (void)unused;
    if (page < from || page >= from + PAGES * PAGE || touched == 2 * PAGES)
        _exit(3);
    const int i = (int)((page - from) / PAGE);
    touches[touched++] = i;
    mprotect(from, PAGES * PAGE, PROT_NONE);
    mprotect(from + (ptrdiff_t)i * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

/* In which order the pages of writes come, and whether any comes again. */
static void byte_order(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    struct sigaction guard = {.sa_sigaction = touch, .sa_flags = SA_SIGINFO};
    bool ordered = true, once = true;
    both();
    shake();
    sigaction(SIGSEGV, &guard, NULL);
    for (int n = 0; n < 32; n++) {
        touched = 0;
        mprotect(b.memory + HALF, PAGES * PAGE, PROT_NONE);
        must(write_to(&a, &b, PAGES * PAGE, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
        if (next(&a, NULL, &e, &err, 2000) != 1 || touched < PAGES)
            say("nothing");
        for (int i = 0; i < PAGES; i++)
            ordered = ordered && touches[i] == i;
        once = once && touched == PAGES;
    }
    say(ordered && once ? "in order, once" : ordered ? "in order" : once ? "once" : "any, twice");
}

static const struct what ends[] = {
    {"stranger", stranger},
    {"lost", lost},
    {"lost-no-eq", lost_no_eq},
    {"inject-error", inject_error},
    {"gone", gone},
    {"gone-status", gone_status},
    {"gone-early-status", gone_early_status},
    {"bad-key", bad_key},
    {"key-status", key_status},
    {"stranger-status", stranger_status},
    {"removed-status", removed_status},
    {"closed", closed},
    {"truncated", truncated},
    {"completions", completion_order},
    {"messages", message_order},
    {"bytes", byte_order},
    {NULL, NULL},
};

#endif
