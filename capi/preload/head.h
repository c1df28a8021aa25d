/*
 * head.h: the first event of a trace, which describes the file.
 */
#ifndef PRELOAD_HEAD_H
#define PRELOAD_HEAD_H

#include "output.h"

/* Bytes of the head, padded with spaces. */
#define PRELOAD_HEAD 8192

/* What SHMEM_HOST_ID called the host at the begin, "" without it. */
extern const char *preload_host_id;

/* Writes the head of exactly PRELOAD_HEAD bytes. */
void preload_head(char line[PRELOAD_HEAD], const struct preload_about *about, uint64_t lost,
                  uint64_t discarded);

/* A measurement of another PE's clock: at a time of this PE, what has to be added to this PE's
 * times to get those of PE 0, and how far that may be wrong, in nanoseconds. At most two are kept,
 * the first and the last. */
void preload_head_clock(uint64_t at, int64_t offset, uint64_t error);

/* Adds a text to the list of calls that bypass the shim, the trace's key "unseen", unless the list
 * has it. Any thread may call it. */
void preload_head_bypassing(const char *what);

#endif
