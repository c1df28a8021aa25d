/* box.h: a provider in C that only stores what is posted to it; see box.go. */
#ifndef FASTPATHTEST_BOX_H
#define FASTPATHTEST_BOX_H

#include "fastpath.h"

#define BOX_MESSAGE 4096 /* bytes of the largest message */
#define BOX_MESSAGES 64
#define BOX_RECEIVES 64
#define BOX_COMPLETIONS 1024

struct box_message {
    uint32_t pe;
    uint32_t size;
    char bytes[BOX_MESSAGE];
};

struct box_receive {
    void *buf;
    size_t size;
    uintptr_t desc;
    uint32_t token;
};

struct box {
    uint32_t room;                            /* messages that it accepts, at most BOX_MESSAGES */
    uint32_t shut;                            /* 1: it accepts no receive buffers */
    uint32_t again;                           /* percentage of posts that it refuses */
    int failure;                              /* not 0: the result of poll */
    uint64_t seed;                            /* of refuse's random numbers */
    uint64_t injected;                        /* messages so far */
    uint32_t messages, receives, completions; /* entries of the arrays below that are in use */
    struct box_message message[BOX_MESSAGES];
    struct box_receive receive[BOX_RECEIVES];
    struct shmemi_completion completion[BOX_COMPLETIONS];
};

/* The functions of struct shmemi_native. box_poll returns completions that Go has added; box_recv
 * and box_inject store a receive buffer or a message for Go, or refuse it with -EAGAIN. */
int box_poll(void *self, struct shmemi_completion *c, int max);
int box_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token);
int box_inject(void *self, uint32_t pe, const void *buf, size_t n);

#endif
