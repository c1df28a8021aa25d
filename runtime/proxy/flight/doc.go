// Package flight is the flight recorder: the last events of the protocol with each PE, and those
// of the proxy's own thread, always on, for reports of waits that do not end and for shmem-info
// --live (docs/decisions/0042).
//
// It owns the rings of events, which ring is a PE's, how an event is written and read, and the
// text of one. Where the page is that the rings are in, and what else stands there, is its
// caller's. It knows no engine: the state and the peers of a stream (package layout) are all that
// it looks at. C writes events of its own into the same rings (express/record.h).
//
// # Threads and order
//
// The writer of a PE's ring holds the engine's lock; that of the proxy thread's ring is this
// thread, and has no lock. The count of events is stored behind the event. Readers may be other
// processes, without a lock: a read counts before and behind the copy of a ring, and leaves out
// what was overwritten meanwhile.
package flight
