// Package call holds what a caller gives to an engine and what it gets back: the request, the
// status of a call and the ticket of a quiet. It lies below package proxy and package loop, so that
// neither has to import the other. It owns no state and starts no thread.
//
// A Request is written by the engine under its lock, and Done last, with release order. Whoever
// reads Done with acquire order may read the rest.
package call

// Ticket names a quiet. Tickets ascend; 0 is none.
type Ticket uint64
