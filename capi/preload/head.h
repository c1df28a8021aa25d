/*
 * head.h: the first event of a trace, which describes the file.
 */
#ifndef PRELOAD_HEAD_H
#define PRELOAD_HEAD_H

#include "output.h"

/* Bytes of the head, padded with spaces. */
#define PRELOAD_HEAD 8192

/* The value that SHMEM_HOST_ID had when the modes started, "" if it was not set. */
extern const char *preload_host_id;

/* Writes the head, exactly PRELOAD_HEAD bytes. lost counts the calls that the trace lacks, and
 * discarded those among them that were in deleted files. */
void preload_head(char line[PRELOAD_HEAD], const struct preload_about *about, uint64_t lost,
                  uint64_t discarded);

/* Adds a measurement of this PE's clock: at the time `at` of this PE, its times plus offset were PE
 * 0's, wrong by at most error; all in nanoseconds. The head has the first measurement and the last.
 */
void preload_head_clock(uint64_t at, int64_t offset, uint64_t error);

/* Adds a text to the list of calls that bypass the shim, the trace's key "unseen", unless the list
 * has it. Any thread may call it. */
void preload_head_bypassing(const char *what);

#endif
