/*
 * chaos.h: shared by the units of mode chaos.
 */
#ifndef PRELOAD_CHAOS_H
#define PRELOAD_CHAOS_H

#include "delayed.h"

/*
 * chaos_flags.c: finds waits for a flag that was written without a fence behind the data. open and
 * close at the ends of the job, on all PEs.
 */
void chaos_flags_open(void);
void chaos_flags_close(void);

/* Called before puts without an order among them are sent: sends each peer notes that name possible
 * flags and their data. */
void chaos_flags_send(const struct delayed *first);

/* The same for a call that overtakes the puts that are kept. */
void chaos_flags_send_call(const struct delayed *first, const struct preload_frame *f);

/* After each call of the program: what this PE has waited for, and reports. */
void chaos_flags_after(const struct preload_frame *f);

#endif
