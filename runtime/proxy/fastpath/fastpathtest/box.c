#include "box.h"

#include <errno.h>

/* Reports whether the next post is refused: again percent of them are, chosen by a 64-bit xorshift
 * from the seed. */
static int refuse(struct box *b)
{
    b->seed ^= b->seed << 13;
    b->seed ^= b->seed >> 7;
    b->seed ^= b->seed << 17;
    return (b->seed >> 33) % 100 < b->again;
}

int box_poll(void *self, struct shmemi_completion *c, int max)
{
    struct box *b = self;
    if (b->failure != 0)
        return b->failure;
    uint32_t n = b->completions < (uint32_t)max ? b->completions : (uint32_t)max;
    memcpy(c, b->completion, n * sizeof *c);
    b->completions -= n;
    memmove(b->completion, b->completion + n, b->completions * sizeof *c);
    return (int)n;
}

int box_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    struct box *b = self;
    if (b->shut || b->receives == BOX_RECEIVES || refuse(b))
        return -EAGAIN;
    b->receive[b->receives++] =
        (struct box_receive){.buf = buf, .size = n, .desc = desc, .token = token};
    return 0;
}

int box_inject(void *self, uint32_t pe, const void *buf, size_t n)
{
    struct box *b = self;
    if (b->messages == b->room || refuse(b))
        return -EAGAIN;
    struct box_message *m = &b->message[b->messages++];
    m->pe = pe;
    m->size = (uint32_t)n;
    memcpy(m->bytes, buf, n);
    b->injected++;
    return 0;
}
