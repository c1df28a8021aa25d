// Package flight is the flight recorder: it always records the last events of the protocol with
// each PE, and those of the proxy's own thread, for reports of waits that do not end and for
// shmem-info --live (docs/decisions/0042).
//
// It owns the rings of events, the choice of a PE's ring, the form of an event and its text. Its
// caller owns the page that holds the rings, and the rest of that page. The package knows no
// engine: it reads the state and the peers of a context (package layout) alone. C writes its own
// events into the same rings (fastpath/record.h).
//
// # Threads and order
//
// The writer of a PE's ring holds the engine's lock. The proxy's thread writes its own ring, and
// holds no lock for that. A writer stores the count of events after the event. A reader may be
// another process without a lock: it reads the count before and after it copies a ring, and leaves
// out the events that were overwritten in between.
package flight
