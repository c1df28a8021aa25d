/*
 * breaks.c: a program that breaks a provider's rules, one at a time: breaks RULE. It says in one
 * line what came of it, the name of an error or what else there is to see; the test has the
 * answer that is due, and another without the rule.
 * Rules about what comes of operations are here, the others in opens.h and posts.h.
 *
 * It knows libfabric alone. Two endpoints of one process, a and b, know each other unless the
 * rule is about strangers.
 */
#include "opens.h"
#include "posts.h"

static void r4(void)
{
    strangers = true;
    both();
    say(written(b.key));
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

/* A message to an end that does not poll stays where it is; RDMA after the handshake does not. */
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

/* The order of 64 writes by their completions, and of 64 messages by what they bring. */
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
    {"inject-above", r6h},
    {"vector", r6i},
    {"nothing-bare", r6j},
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
    {"completions", completion_order},
    {"messages", message_order},
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
