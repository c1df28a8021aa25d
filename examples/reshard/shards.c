/* shards.c: cuts columns out of rows. */
#include "shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows are read in large pieces and cut in memory: a read for each piece of a row, often of some
 * hundred bytes, would take far longer. */
enum { BUFFER = 1 << 20 };

/* Reads a PE's columns of a tensor to `to`; buffer has BUFFER bytes. */
static bool read_shard(const struct model *m, const struct tensor *t, const struct shard *s,
                       unsigned char *to, unsigned char *buffer, char *error)
{
    if (s->row_bytes > BUFFER) { /* rows so long that each is worth a read */
        for (size_t row = 0; row < s->rows; row++, to += s->width)
            if (!safetensors_read(m, t->begin + row * s->row_bytes + s->first, to, s->width, error))
                return false;
        return true;
    }
    for (size_t row = 0; row < s->rows;) {
        size_t n = BUFFER / s->row_bytes;
        if (n > s->rows - row)
            n = s->rows - row;
        if (!safetensors_read(m, t->begin + row * s->row_bytes, buffer, n * s->row_bytes, error))
            return false;
        for (size_t i = 0; i < n; i++, to += s->width)
            memcpy(to, buffer + i * s->row_bytes + s->first, s->width);
        row += n;
    }
    return true;
}

bool shards_read(struct shards *s, const struct layout *l, int me, char error[SAFETENSORS_ERROR])
{
    const struct model *m = l->model;
    size_t total = 0;
    s->at = calloc(m->count + 1, sizeof *s->at);
    for (size_t i = 0; s->at && i < m->count; i++) {
        struct shard shard = layout_shard(&m->tensors[i], me, l->n_pes);
        s->at[i] = total;
        total += shard.rows * shard.width;
    }
    s->bytes = malloc(total + 1);
    unsigned char *buffer = malloc(BUFFER);
    bool ok = s->at && s->bytes && buffer;
    if (!ok)
        snprintf(error, SAFETENSORS_ERROR,
                 "allocate %zu bytes for the shards: out of memory (use more hosts)", total);
    for (size_t i = 0; ok && i < m->count; i++) {
        struct shard shard = layout_shard(&m->tensors[i], me, l->n_pes);
        if (shard.width > 0)
            ok = read_shard(m, &m->tensors[i], &shard, s->bytes + s->at[i], buffer, error);
    }
    free(buffer);
    if (!ok)
        shards_free(s);
    return ok;
}

void shards_free(struct shards *s)
{
    free(s->bytes);
    free(s->at);
    *s = (struct shards){0};
}
