/*
 * shards.h: a PE's part of the model in layout A, read from the file.
 *
 * The shards are ordinary memory: the source of a put may be any memory of
 * the calling PE, only its target has to be symmetric. (A network that can
 * only send from registered memory registers it at the first put.)
 */
#ifndef RESHARD_SHARDS_H
#define RESHARD_SHARDS_H

#include "layout.h"

struct shards {
    unsigned char *bytes;
    size_t *at; /* where the shard of each tensor begins */
};

/* On false, `error` has the message, and there is nothing to free. */
bool shards_read(struct shards *s, const struct layout *l, int me, char error[SAFETENSORS_ERROR]);
void shards_free(struct shards *s);

#endif
