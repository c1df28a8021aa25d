/*
 * counts.h: calls that are counted and not recorded, because calls=PATTERN leaves them out.
 */
#ifndef PRELOAD_COUNTS_H
#define PRELOAD_COUNTS_H

/* Adds the event libshmem_counts, if there are such calls. */
void preload_counts(void);

#endif
