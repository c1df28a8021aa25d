/*
 * counts.h: calls that are counted and not recorded, because calls=PATTERN leaves them out.
 */
#ifndef PRELOAD_COUNTS_H
#define PRELOAD_COUNTS_H

/* Writes the event libshmem_counts, if calls were counted. */
void preload_counts(void);

#endif
