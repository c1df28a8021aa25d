/* layout.c: arithmetic on sizes and offsets. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* Tensors begin at a cache line of the block, whatever their dtype. */
enum { ALIGN = 64 };

struct shard layout_shard(const struct tensor *t, int pe, int n_pes)
{
    struct shard s = {0};
    if (t->nbytes == 0)
        return s;
    s.rows = t->n_dims >= 2 ? t->shape[0] : 1;
    s.row_bytes = t->nbytes / s.rows;
    /* Columns are cut between elements. PE p begins at column columns * p / n_pes, computed by
     * quotient and remainder so that the product cannot overflow. So some PEs have one column more
     * than others, and some have none if there are fewer columns than PEs. */
    size_t columns = s.row_bytes / t->dtype->size;
    size_t each = columns / (size_t)n_pes, rest = columns % (size_t)n_pes;
    size_t begin = each * (size_t)pe + rest * (size_t)pe / (size_t)n_pes;
    size_t end = each * (size_t)(pe + 1) + rest * (size_t)(pe + 1) / (size_t)n_pes;
    s.first = begin * t->dtype->size;
    s.width = (end - begin) * t->dtype->size;
    return s;
}

struct by_size {
    uint64_t nbytes;
    size_t index;
};

static int largest_first(const void *a, const void *b)
{
    const struct by_size *x = a, *y = b;
    if (x->nbytes != y->nbytes)
        return x->nbytes > y->nbytes ? -1 : 1;
    return x->index < y->index ? -1 : 1; /* the same order on every PE */
}

bool layout_init(struct layout *l, const struct model *m, int n_pes)
{
    *l = (struct layout){.model = m, .n_pes = n_pes};
    l->places = calloc(m->count + 1, sizeof *l->places);
    struct by_size *order = calloc(m->count + 1, sizeof *order);
    size_t *filled = calloc((size_t)n_pes, sizeof *filled);
    bool ok = l->places && order && filled;
    if (ok) {
        for (size_t i = 0; i < m->count; i++)
            order[i] = (struct by_size){.nbytes = m->tensors[i].nbytes, .index = i};
        qsort(order, m->count, sizeof *order, largest_first);
        for (size_t i = 0; i < m->count; i++) {
            int least = 0;
            for (int pe = 1; pe < n_pes; pe++)
                if (filled[pe] < filled[least])
                    least = pe;
            l->places[order[i].index] = (struct place){.owner = least, .offset = filled[least]};
            filled[least] += (order[i].nbytes + ALIGN - 1) / ALIGN * ALIGN;
            if (filled[least] > l->largest_block)
                l->largest_block = filled[least];
        }
    }
    free(order);
    free(filled);
    if (!ok)
        layout_free(l);
    return ok;
}

void layout_free(struct layout *l)
{
    free(l->places);
    l->places = NULL;
}

uint64_t layout_moving_bytes(const struct layout *l)
{
    uint64_t total = l->model->nbytes;
    for (size_t i = 0; i < l->model->count; i++) {
        struct shard kept = layout_shard(&l->model->tensors[i], l->places[i].owner, l->n_pes);
        total -= kept.rows * kept.width;
    }
    return total;
}

bool layout_next_chunk(struct chunks *walk, struct chunk *c)
{
    const struct layout *l = walk->layout;
    for (; walk->next < l->model->count; walk->next++, walk->offset = 0) {
        if (l->places[walk->next].owner != walk->receiver)
            continue;
        struct shard s = layout_shard(&l->model->tensors[walk->next], walk->sender, l->n_pes);
        size_t left = s.rows * s.width - walk->offset;
        if (left == 0)
            continue;
        *c = (struct chunk){.tensor = walk->next,
                            .offset = walk->offset,
                            .nbytes = left < walk->limit ? left : walk->limit};
        walk->offset += c->nbytes;
        return true;
    }
    return false;
}

void layout_place_chunk(const struct layout *l, const struct chunk *c, int sender,
                        const unsigned char *from, unsigned char *tensor)
{
    struct shard s = layout_shard(&l->model->tensors[c->tensor], sender, l->n_pes);
    size_t row = c->offset / s.width;
    size_t column = c->offset % s.width; /* a chunk may begin inside a row */
    for (size_t left = c->nbytes; left > 0; row++, column = 0) {
        size_t n = s.width - column < left ? s.width - column : left;
        memcpy(tensor + row * s.row_bytes + s.first + column, from, n);
        from += n;
        left -= n;
    }
}
