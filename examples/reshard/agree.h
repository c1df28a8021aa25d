/*
 * agree.h: lets all PEs fail together.
 *
 * All PEs read the same file and the same arguments, so they usually fail in the same way, and
 * eight copies of a message would obscure it. But one may fail alone, on another host, and must
 * then not leave the others in a barrier for ever.
 */
#ifndef RESHARD_AGREE_H
#define RESHARD_AGREE_H

#include <stdbool.h>
#include <stddef.h>

/* Collective; once, before the other two. */
void agree_init(void);

/* Collective: returns when every PE passes NULL, else ends the job with the message of one PE and a
 * status that is not zero. */
void agree(const char *error);

enum { AGREE_SAME_BYTES = 32 };

/* Collective: true if PE 0 passes the same bytes. */
bool agree_same(const unsigned char bytes[AGREE_SAME_BYTES]);

#endif
