/*
 * counts.h: calls that are counted and not recorded, because calls=PATTERN leaves them out.
 */
#ifndef PRELOAD_COUNTS_H
#define PRELOAD_COUNTS_H

/* Writes the event libshmem_counts, how often each function was called without being recorded, if
 * a count has changed since the last event. */
void preload_counts(void);

#endif
