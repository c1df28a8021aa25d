/*
 * prove.c: proves that the NIC reaches a region of GPU memory, because a provider may register one
 * that it does not reach. The NIC reads the first and the last word, by the region's key, and
 * writes them back.
 */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 32, NAME = 256, SECONDS = 5 };

/* The state of proofs, allocated by the first one. */
struct shmemi_ofi_proof {
    struct fi_context2 context;
    uint64_t word;
    struct fid_mr *mr; /* registration of word */
    void *desc;
    fi_addr_t self;
    int ready; /* all of these are there */
    int busy;  /* context is under way */
    int error; /* with which the last operation completed: of libfabric, positive; 0: none */

    /* Completions of other operations that were polled meanwhile. The next polls return them. */
    struct shmemi_completion *kept;
    int first, count, capacity;
};

/* Prepares the first proof of an endpoint: registers the word that the proofs move, and inserts the
 * endpoint itself into its address vector. */
static int begin(struct shmemi_ofi *o)
{
    char name[NAME];
    size_t len = sizeof name;
    o->failed = "calloc";
    struct shmemi_ofi_proof *p = calloc(1, sizeof *p);
    if (p == NULL)
        return -FI_ENOMEM;
    o->proof = p;
    int ret = shmemi_ofi_register(o, &p->word, sizeof p->word, &p->mr);
    if (ret != 0) {
        p->mr = NULL;
        return ret;
    }
    p->desc = fi_mr_desc(p->mr);
    o->failed = "fi_getname";
    if ((ret = fi_getname(&o->ep->fid, name, &len)) != 0)
        return ret;
    o->failed = "fi_av_insert of this endpoint";
    ret = fi_av_insert(o->av, name, 1, &p->self, 0, NULL);
    p->ready = ret == 1;
    return ret == 1 ? 0 : ret < 0 ? ret : -FI_EADDRNOTAVAIL;
}

/* Polls the completion queue once, during the proof that the NIC reaches a region. The poll itself
 * records the completion of the proof's read or write (shmemi_ofi_proved). This function keeps the
 * completions of all other operations, which the endpoint's next polls return. */
static int poll_for_proof(struct shmemi_ofi *o)
{
    struct shmemi_ofi_proof *p = o->proof;
    struct shmemi_completion c[BATCH];
    int n = shmemi_ofi_poll_now(o, c, BATCH);
    if (n <= 0)
        return n;
    if (p->first + p->count + n > p->capacity) {
        int capacity = 2 * (p->first + p->count + n);
        struct shmemi_completion *more = realloc(p->kept, (size_t)capacity * sizeof *more);
        if (more == NULL)
            return -FI_ENOMEM;
        p->kept = more;
        p->capacity = capacity;
    }
    memcpy(p->kept + p->first + p->count, c, (size_t)n * sizeof *c);
    p->count += n;
    return 0;
}

/* Has the NIC read a word of the region at address at, or write it back, and waits for that. */
static int move_word(struct shmemi_ofi *o, uint64_t at, uint64_t key, int write)
{
    struct shmemi_ofi_proof *p = o->proof;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const time_t end = t.tv_sec + SECONDS;
    ssize_t ret = -FI_EAGAIN;
    p->busy = 1;
    p->error = 0;
    while (ret == -FI_EAGAIN || (ret == 0 && p->busy)) {
        if (ret == -FI_EAGAIN)
            ret = write ? fi_write(o->ep, &p->word, sizeof p->word, p->desc, p->self, at, key,
                                   &p->context)
                        : fi_read(o->ep, &p->word, sizeof p->word, p->desc, p->self, at, key,
                                  &p->context);
        int polled = poll_for_proof(o);
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (polled < 0)
            return polled;
        if (t.tv_sec > end)
            return -FI_ETIMEDOUT; /* the context may be under way: there is no further proof */
    }
    p->busy = 0;
    return ret != 0 ? (int)ret : -p->error;
}

/* Proves that the NIC reaches a registered region: it reads the first and the last word and, with
 * write, writes them back. After an error o->failed names what has failed. */
int shmemi_ofi_prove(struct shmemi_ofi *o, struct fid_mr *mr, const void *base, size_t len,
                     int write)
{
    o->failed = "a proof before";
    int ret = o->proof == NULL ? begin(o) : o->proof->busy || !o->proof->ready ? -FI_EBUSY : 0;
    const uint64_t from = o->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
    for (int last = 0; last < 2 && ret == 0 && len >= sizeof(uint64_t); last++) {
        const uint64_t at = from + (last ? len - sizeof(uint64_t) : 0);
        o->failed = "the NIC does not reach it: read";
        ret = move_word(o, at, fi_mr_key(mr), 0);
        if (ret == 0 && write) {
            o->failed = "the NIC does not reach it: write";
            ret = move_word(o, at, fi_mr_key(mr), 1);
        }
    }
    return ret;
}

/* Records the completion of a proof's operation. Returns 0 for the context of another operation. */
int shmemi_ofi_proved(struct shmemi_ofi *o, const void *context, int err)
{
    if (o->proof == NULL || context != &o->proof->context)
        return 0;
    o->proof->busy = 0;
    o->proof->error = err;
    return 1;
}

/* Moves up to max completions of other operations, which were read during a proof, to c, and
 * returns their number. Without c it only returns the number. */
int shmemi_ofi_proof_completions(struct shmemi_ofi *o, struct shmemi_completion *c, int max)
{
    struct shmemi_ofi_proof *p = o->proof;
    if (p == NULL || p->count == 0)
        return 0;
    int n = max < p->count ? max : p->count;
    if (c == NULL)
        return n;
    memcpy(c, p->kept + p->first, (size_t)n * sizeof *c);
    p->count -= n;
    p->first = p->count > 0 ? p->first + n : 0;
    return n;
}

/* The registration of the memory with which PEs prove who they are, or NULL. */
struct fid *shmemi_ofi_proof_region(struct shmemi_ofi *o)
{
    return o->proof != NULL && o->proof->mr != NULL ? &o->proof->mr->fid : NULL;
}

/* Frees the state of proofs. The endpoint must be closed: an operation may have been under way. */
void shmemi_ofi_end_proofs(struct shmemi_ofi *o)
{
    if (o->proof != NULL)
        free(o->proof->kept);
    free(o->proof);
}
