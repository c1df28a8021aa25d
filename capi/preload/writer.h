/*
 * writer.h: the one thread of the process that empties the rings into the files. It starts when
 * the first record is written, and sleeps while there are none.
 */
#ifndef PRELOAD_WRITER_H
#define PRELOAD_WRITER_H

#include "output.h"

/* Starts the thread. False, after a message: nothing can be recorded. Called once at most in a
 * process. */
bool preload_writer_start(const char *dir, uint64_t most);

/* The PE is known: from now on there is a file. Called once. */
void preload_writer_pe(const struct preload_about *about);

/* Wakes it. */
void preload_writer_wake(void);

/* Returns when all that was recorded before is in the files, and they are complete, or after 10
 * seconds without an answer. The thread is gone then where last is set. */
void preload_writer_flush(bool last);

/* For the child of a fork, which has no writer thread. */
void preload_writer_forked(void);

/* Whether records can still be written. */
extern _Atomic bool preload_recording;

#endif
