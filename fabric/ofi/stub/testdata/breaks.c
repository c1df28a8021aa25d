/*
 * breaks.c: a program that breaks a provider's rules, one at a time: breaks RULE. It says in one
 * line what came of it, the name of an error or what else there is to see; the test has the
 * answer that is due, and another without the rule.
 * Rules about operations are here, the others in opens.h.
 *
 * It knows libfabric alone. Two endpoints of one process, a and b, know each other unless the
 * rule is about strangers.
 */
#include "opens.h"

static void r4(void)
{
    strangers = true;
    both();
    say(written(b.key));
}

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

/* b is gone before its first contact with a. */
static void lose_b(void)
{
    both();
    must(fi_close(&b.ep->fid), "close b");
}

static void r9(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    struct fi_eq_err_entry said = {0};
    uint32_t event;
    lose_b();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    for (int i = 0; i < 20; i++) {
        next(&a, NULL, &e, &err, 1);
        if (a.eq != NULL && fi_eq_read(a.eq, &event, &e, sizeof e, 0) == -FI_EAVAIL) {
            fi_eq_readerr(a.eq, &said, 0);
            say(named(said.err));
        }
    }
    say("silence");
}

static void r9a(void)
{
    with_eq = false;
    r9();
}

static void r10b(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    /* b does not poll. */
    say(next(&a, NULL, &e, &err, 50) == 1 ? "completed" : "nothing");
}

/* A message to one who does not poll stays where it is; RDMA after the handshake does not. */
static void r10a(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    shake();
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    memset(a.memory, 9, 8);
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[1]), "fi_send");
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[2]), "write");
    for (int came = 0; came < 2; came++)
        if (next(&a, NULL, &e, &err, 1000) != 1)
            say("nothing");
    say(b.memory[HALF] != 9 ? "no RDMA" : b.memory[0] == 9 ? "both" : "RDMA alone");
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

/* A completion of data, as b sees it. */
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

static void r11a(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(e.op_context == NULL ? "NULL" : "a context");
}

static void r11b(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(e.flags == (FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE) && e.data == 0xabcd1234
            ? "all"
            : "other");
}

static void r11e(void)
{
    struct fi_cq_data_entry e;
    fi_addr_t from = 99;
    both();
    told(&e, &from);
    say(from == b.other ? "filled" : "empty");
}

static void r11c(void)
{
    struct fi_cq_data_entry e;
    struct fi_info *h = hints();
    fi_addr_t from = 99;
    h->mode |= FI_RX_CQ_DATA;
    must(ask(h), "fi_getinfo");
    both();
    must(fi_recv(b.ep, b.memory, 64, b.desc, FI_ADDR_UNSPEC, &contexts[7]), "fi_recv");
    told(&e, &from);
    say(e.op_context == &contexts[7] ? "a receive" : "NULL");
}

static void injected_error(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_inject(a.ep, a.memory, 8, a.other), "fi_inject");
    int ret = next(&a, NULL, &e, &err, 100);
    say(ret == 0 ? "nothing" : err.op_context == NULL ? "without context" : "with context");
}

static void gone(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    shake();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[0]), "fi_send");
    int ret = next(&a, NULL, &e, &err, 200);
    say(ret == 0 ? "nothing" : named(ret));
}

/* What the device says, by the provider's number of an error. */
static void say_status(int ret, const struct fi_cq_err_entry *err)
{
    char text[32];
    snprintf(text, sizeof text, "%d", err->prov_errno);
    say(ret < 0 ? text : "no error");
}

static void gone_status(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    shake();
    must(fi_close(&b.ep->fid), "close b");
    must(fi_send(a.ep, a.memory, 8, a.desc, a.other, &contexts[0]), "fi_send");
    int ret = next(&a, NULL, &e, &err, 200);
    say_status(ret, &err);
}

static void write_status(uint64_t key)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    must(write_to(&a, &b, 8, a.desc, key, FI_COMPLETION, &contexts[0]), "write");
    int ret = next(&a, &b, &e, &err, 2000);
    say_status(ret, &err);
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
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_REMOTE_CQ_DATA, &contexts[1])));
}

static void bad_key(void)
{
    both();
    say(written(b.key + 1));
}

static void r15p(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    both();
    must(fi_recv(b.ep, b.memory, 8, b.desc, FI_ADDR_UNSPEC, &contexts[0]), "fi_recv");
    must(fi_send(a.ep, a.memory, 16, a.desc, a.other, &contexts[1]), "fi_send");
    int ret = next(&b, &a, &e, &err, 200);
    say(ret == 1 ? "fine" : named(ret));
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

static void r19h(void)
{
    both();
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION | FI_FENCE, &contexts[0])));
}

static void r19g(void)
{
    both();
    say(named(fi_inject(a.ep, a.memory, 193, a.other)));
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"orders", r1a},
    {"granted", r1c},
    {"none-granted", r1c0},
    {"first", r2a},
    {"cq-large", r3a},
    {"cq-full", r3g},
    {"stranger", r4},
    {"send-bare", r5_send},
    {"recv-bare", r5_recv},
    {"write-bare", r5_write},
    {"inject-write", r6_inject},
    {"inject-writedata", r6_injectdata},
    {"write-injected", r6_flag},
    {"send-long", r6d},
    {"write-long", r6e},
    {"inject-long", r6_long},
    {"context", r7a},
    {"context-changed", r7a_abort},
    {"no-context", r7b},
    {"wait-fd", r8},
    {"wait", r8d},
    {"tagged", r8k},
    {"lost", r9},
    {"lost-no-eq", r9a},
    {"unpolled", r10b},
    {"moves", r10a},
    {"seventeenth", r10c},
    {"inject-first", r10d},
    {"data-context", r11a},
    {"data-flags", r11b},
    {"data-source", r11e},
    {"data-receive", r11c},
    {"rma-offered", r11h},
    {"dmabuf-offset", r13a},
    {"dmabuf-page", r13b},
    {"dmabuf-old", r13c},
    {"key", r14b},
    {"inject-error", injected_error},
    {"gone", gone},
    {"bad-key", bad_key},
    {"key-status", key_status},
    {"gone-status", gone_status},
    {"stranger-status", stranger_status},
    {"data-unlike", unlike},
    {"wait-remote", r8i},
    {"gpu-closed", r13d},
    {"two-pieces", r13e},
    {"truncated", r15p},
    {"send-queue", r16a},
    {"no-receive", r16d},
    {"receive-queue", r16f},
    {"refusals", refusals},
    {"cancel", r16g},
    {"hmem-mode", r17a},
    {"hmem", r17b},
    {"data", r19a},
    {"writedata", r19b},
    {"dmabuf-cxi", r19d},
    {"inject-cxi", r19g},
    {"inject-data-cxi", r19c},
    {"fence", r19h},
    {"option-cuda", r20_cuda},
    {"option-shm", r20d},
    {"option-shm-on", r20e},
    {"option-unknown", r20g},
    {"option-length", r20h},
    {"open", r22},
    {"fork", r23},
};

int main(int argc, char **argv)
{
    if (argc > 2)
        fabric = argv[2];
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    fprintf(stderr, "usage: breaks WHAT [FABRIC]\n");
    return 2;
}
