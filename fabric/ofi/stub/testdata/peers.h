/*
 * peers.h: rules about a peer's part in the arrival of an operation: the handshake and the polling
 * of efa, and its shm; and about the options that close shm and keep CUDA away.
 */
#ifndef PEERS_H
#define PEERS_H

#include "regions.h"
#include "side.h"

/* Later than the headers. */
enum {
    CUDA_PERMITTED = 10,
    SHM_PERMITTED = 11,
    MAX_MSG_SIZE = 12,
    MAX_RMA_SIZE = 14,
    WRITE_IN_ORDER_ALIGNED_128_BYTES = -(0xefa << 16) + 6
};

static void forbid(struct side *s, int option)
{
    const bool permitted = false;
    must(fi_setopt(&s->ep->fid, FI_OPT_ENDPOINT, option, &permitted, sizeof permitted),
         "fi_setopt");
}

static void forbid_cuda(struct side *s)
{
    forbid(s, CUDA_PERMITTED);
}

static void forbid_shm(struct side *s)
{
    forbid(s, SHM_PERMITTED);
}

/* b does not poll. */
static void say_unpolled(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]), "write");
    say(next(&a, NULL, &e, &err, LONG_MS) == 1 ? "completed" : "nothing");
}

static void unpolled(void)
{
    both();
    say_unpolled();
}

static void unpolled_no_shm(void)
{
    prepare = forbid_shm;
    unpolled();
}

static void unpolled_no_cuda(void)
{
    prepare = forbid_cuda;
    gpu();
    say_unpolled();
}

/* A program of an old API version, after the handshake. */
static void unpolled_old(void)
{
    api = FI_VERSION(1, 17);
    both();
    shake();
    say_unpolled();
}

/* A program of an old API version finds its writes and reads there, once its target polls. */
static void old(void)
{
    struct fi_cq_data_entry e;
    struct fi_cq_err_entry err;
    api = FI_VERSION(1, 17);
    both();
    memset(a.memory, 7, 64);
    memset(b.memory, 8, 64);
    if (strcmp(written(b.key), "fine") != 0 || b.memory[HALF] != 7)
        say("not written");
    must(fi_read(a.ep, a.memory, 64, a.desc, a.other, b.base, b.key, &contexts[0]), "fi_read");
    if (next(&a, &b, &e, &err, 2000) != 1 || a.memory[63] != 8)
        say("not read");
    say(written(b.key + 1));
}

/* A message to an end that does not poll stays where it is; RDMA after the handshake does not. */
static void moves(void)
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
    /* No endpoint polls: only the NIC's thread could take the message. */
    for (int i = 0; i < 500 && *(volatile char *)b.memory != 9; i++)
        pause_us(1000);
    say(b.memory[HALF] != 9 ? "no RDMA" : b.memory[0] == 9 ? "both" : "RDMA alone");
}

static void seventeenth(void)
{
    both();
    for (int i = 0; i < 16; i++)
        must(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[i]), "write");
    say(named(write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[16])));
}

static void inject_first(void)
{
    both();
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

/* b has no room for messages, until it polls. */
static void backoff(void)
{
    struct fi_cq_data_entry e;
    ssize_t ret = 0;
    both();
    shake();
    for (int i = 0; i < 200; i++)
        must(fi_send(a.ep, a.memory, 8000, a.desc, a.other, &contexts[i]), "fi_send");
    for (int i = 0; i < 200 && ret == 0; i++) {
        pause_us(1000);
        fi_cq_read(a.cq, &e, 1);
        ret = write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[200 + i]);
    }
    if (ret != -FI_EAGAIN)
        say(named(ret));
    for (int i = 0; i < 20000 && ret == -FI_EAGAIN; i++) {
        fi_cq_read(b.cq, &e, 1);
        pause_us(100);
        ret = write_to(&a, &b, 8, a.desc, b.key, FI_COMPLETION, &contexts[0]);
    }
    say(ret == 0 ? "EAGAIN until it polls" : named(ret));
}

/* a learns of b, a peer of its host, before fi_enable closes shm. */
static void inject_local(void)
{
    must(ask(hints()), "fi_getinfo");
    open_side(&b);
    must(open_domain(&a), "fi_domain");
    must(open_cq(&a), "fi_cq_open");
    make_ep(&a);
    meet(&a, &b);
    prepare = forbid_shm;
    enable(&a);
    say(named(fi_inject_write(a.ep, a.memory, 8, a.other, b.base, b.key)));
}

/* An operation with memory of a GPU. */
static void gpu_post(void)
{
    struct fid_mr *mr;
    gpu();
    must(register_gpu(&a, a.memory, SIZE, &mr), "fi_mr_regattr");
    must(fi_send(a.ep, a.memory, 8, fi_mr_desc(mr), a.other, &contexts[0]), "fi_send");
    say("posted");
}

static void gpu_post_forbidden(void)
{
    prepare = forbid_cuda;
    gpu_post();
}

static void set(int name, const void *value, size_t len)
{
    must(ask(hints()), "fi_getinfo");
    must(open_domain(&a), "fi_domain");
    must(open_cq(&a), "fi_cq_open");
    make_ep(&a);
    say(named(fi_setopt(&a.ep->fid, FI_OPT_ENDPOINT, name, value, len)));
}

static const bool no = false, yes = true;

static void option_cuda(void)
{
    set(CUDA_PERMITTED, &no, sizeof no);
}

static void option_shm(void)
{
    set(SHM_PERMITTED, &no, sizeof no);
}

static void option_shm_on(void)
{
    set(SHM_PERMITTED, &yes, sizeof yes);
}

static void option_unknown(void)
{
    set(999, &no, sizeof no);
}

static void option_length(void)
{
    static const char wide[8];
    set(SHM_PERMITTED, wide, sizeof wide);
}

static void option_in_order(void)
{
    set(WRITE_IN_ORDER_ALIGNED_128_BYTES, &yes, sizeof yes);
}

static void option_message(void)
{
    const size_t most = (size_t)(1 << 30) + 1;
    set(MAX_MSG_SIZE, &most, sizeof most);
}

static void option_rma(void)
{
    const size_t most = (size_t)(1 << 30) + 1;
    set(MAX_RMA_SIZE, &most, sizeof most);
}

static const struct what peers[] = {
    {"unpolled", unpolled},
    {"unpolled-no-shm", unpolled_no_shm},
    {"unpolled-no-cuda", unpolled_no_cuda},
    {"unpolled-old", unpolled_old},
    {"old", old},
    {"moves", moves},
    {"seventeenth", seventeenth},
    {"inject-first", inject_first},
    {"backoff", backoff},
    {"inject-local", inject_local},
    {"gpu-post", gpu_post},
    {"gpu-post-forbidden", gpu_post_forbidden},
    {"option-cuda", option_cuda},
    {"option-shm", option_shm},
    {"option-shm-on", option_shm_on},
    {"option-unknown", option_unknown},
    {"option-length", option_length},
    {"option-in-order", option_in_order},
    {"option-message", option_message},
    {"option-rma", option_rma},
    {NULL, NULL},
};

#endif
