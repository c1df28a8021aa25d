/*
 * output.h: the files of a trace: DIR/PE.json, and the older parts DIR/PE.1.json and so on.
 * Only the writer's thread calls these functions.
 */
#ifndef PRELOAD_OUTPUT_H
#define PRELOAD_OUTPUT_H

#include "ring.h"

/* The fields of a trace's head, except its counts. The texts are not copied. */
struct preload_about {
    int pe, npes;
    const char *library, *program;
};

/* How many files of a trace are kept; each may have a quarter of the bytes of a trace. */
#define PRELOAD_PARTS 4

/* Creates the first file. False, after it has printed an error: nothing can be recorded. */
bool preload_output_open(const char *dir, uint64_t max_bytes, const struct preload_about *about);

/* Adds the event of a record. The ring's tid is not 0, which only metadata events have. */
void preload_output_call(struct preload_ring *ring, const struct preload_record *record);

/* Adds a metadata event: its arguments, in JSON without the braces. */
void preload_output_about(const char *name, const char *arguments);

/* Writes the buffered events to the file, and the head with the number of lost calls. */
void preload_output_flush(uint64_t lost);

/* Flushes and closes the file's JSON array. A further event opens the array again. */
void preload_output_end(uint64_t lost);

/* Reports whether events can be written: false after an error, which has been reported. */
bool preload_output_works(void);

/* Returns the number of events in files that were deleted to keep the trace within its size. */
uint64_t preload_output_discarded(void);

#endif
