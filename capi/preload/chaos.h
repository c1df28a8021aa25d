/*
 * chaos.h: shared by the units of mode chaos.
 */
#ifndef PRELOAD_CHAOS_H
#define PRELOAD_CHAOS_H

#include "delayed.h"

/*
 * chaos_flags.c: finds waits for a flag that was written without a fence after the data. All PEs
 * call open after init, and close after finalize.
 */
void chaos_flags_open(void);
void chaos_flags_close(void);

/* Called before the puts of a list, which no fence orders, are sent: writes notes to their targets,
 * each about a small put that may be a flag and an earlier put that may be its data. */
void chaos_flags_send(const struct delayed *first);

/* Writes such notes for an atomic or a signal that is sent before the puts of the list. */
void chaos_flags_send_call(const struct delayed *first, const struct preload_frame *f);

/* Called after each call: compares a wait that has ended with the notes that other PEs have written
 * to this PE, and at the next barrier or collective reports the flags that were waited for without
 * their data. */
void chaos_flags_after(const struct preload_frame *f);

#endif
