/*
 * writer.h: the one thread of the process that empties the rings into the files. It starts when
 * the first record is written, and sleeps while there are none.
 */
#ifndef PRELOAD_WRITER_H
#define PRELOAD_WRITER_H

#include "output.h"

/* Starts the thread. False, after it has printed an error: nothing can be recorded. At most one
 * call in a process. max_bytes limits the size of the files, and dir stays valid afterwards. */
bool preload_writer_start(const char *dir, uint64_t max_bytes);

/* Called once, when this PE's number is known: lets the writer create the file. */
void preload_writer_pe(const struct preload_about *about);

/* Wakes the writer before its next poll. */
void preload_writer_wake(void);

/* Returns when the writer has written all earlier records and completed the file, or, after a
 * message, when that has taken more than 10 seconds. With last, the thread then ends. */
void preload_writer_flush(bool last);

/* In the child of a fork, which has no writer thread: stops recording. */
void preload_writer_forked(void);

/* Whether the writer still writes records; false after an error. */
extern _Atomic bool preload_recording;

#endif
