/* verify.c: two digests for each tensor, and their comparison. */
#include "verify.h"

#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20 }; /* bytes of the file that are read at once */

struct proof *verify_alloc(struct symmetric *heap, const struct model *m)
{
    struct proof *proofs = symmetric_alloc(heap, m->count * sizeof *proofs);
    /* Digests of memory begin as zeros, those of the file as ones: two that never come differ. */
    for (size_t i = 0; proofs && i < m->count; i++)
        memset(proofs[i].file, 0xff, sizeof proofs[i].file);
    shmem_barrier_all();
    return proofs;
}

/* The digest of a tensor's bytes in the file; buffer has BUFFER bytes. */
static bool hash_file(const struct model *m, const struct tensor *t, unsigned char *buffer,
                      unsigned char digest[SHA256_BYTES], char *error)
{
    struct sha256 h;
    sha256_begin(&h);
    for (uint64_t done = 0; done < t->nbytes;) {
        size_t n = t->nbytes - done < BUFFER ? t->nbytes - done : BUFFER;
        if (!safetensors_read(m, t->begin + done, buffer, n, error))
            return false;
        sha256_add(&h, buffer, n);
        done += n;
    }
    sha256_end(&h, digest);
    return true;
}

bool verify_hash(const struct layout *l, int me, const unsigned char *block, struct proof *proofs,
                 char error[SAFETENSORS_ERROR])
{
    const struct model *m = l->model;
    unsigned char *buffer = malloc(BUFFER);
    bool ok = buffer != NULL;
    if (!ok)
        snprintf(error, SAFETENSORS_ERROR, "allocate %d bytes: out of memory", BUFFER);
    for (size_t i = 0; ok && i < m->count; i++) {
        unsigned char digest[SHA256_BYTES];
        if (l->places[i].owner == me) {
            struct sha256 h;
            sha256_begin(&h);
            sha256_add(&h, block + l->places[i].offset, m->tensors[i].nbytes);
            sha256_end(&h, digest);
            /* A blocking put: when it returns, `digest` may be reused, although the bytes need not
             * have arrived. */
            shmem_putmem(proofs[i].memory, digest, sizeof digest, 0);
        }
        if ((l->places[i].owner + 1) % l->n_pes == me) {
            ok = hash_file(m, &m->tensors[i], buffer, digest, error);
            if (ok)
                shmem_putmem(proofs[i].file, digest, sizeof digest, 0);
        }
    }
    free(buffer);
    return ok;
}

/* Prints a name from a file with ? for each control character, which a terminal would obey. */
static void print_name(const char *name)
{
    for (; *name; name++)
        putchar((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

static void print_tensor(const struct layout *l, size_t index, const struct proof *proof)
{
    const struct tensor *t = &l->model->tensors[index];
    char text[SHA256_TEXT];
    sha256_text(proof->memory, text);
    printf("tensor ");
    print_name(t->name);
    printf(" %s [", t->dtype->name);
    for (int d = 0; d < t->n_dims; d++)
        printf("%s%" PRIu64, d ? ", " : "", t->shape[d]);
    printf("]: %" PRIu64 " bytes on PE %d, sha256 %s\n", t->nbytes, l->places[index].owner, text);
}

bool verify_compare(const struct layout *l, const struct proof *proofs, bool print,
                    char error[SAFETENSORS_ERROR])
{
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < l->model->count; i++) {
        if (memcmp(proofs[i].memory, proofs[i].file, SHA256_BYTES) != 0 && wrong++ == 0)
            first = i;
        if (print)
            print_tensor(l, i, &proofs[i]);
    }
    if (wrong > 0)
        snprintf(error, SAFETENSORS_ERROR,
                 "verify %zu tensors: %zu not as in the file, the first is tensor %zu on PE %d"
                 " (-v prints the digests)",
                 l->model->count, wrong, first, l->places[first].owner);
    return wrong == 0;
}
