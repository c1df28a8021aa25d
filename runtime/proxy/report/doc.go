// Package report describes an endpoint of the network. Other processes read its page: counters,
// NICs, registrations, work that a GPU has not carried out, and the events of the flight recorder.
// People read sentences about its work with a PE, and about messages that it has dropped.
//
// The package owns the page: its head, and the places of the engine's state and of the recorder's
// rings. It does not own the contents of the state, nor the choice of events to note. It knows the
// engine by the interface Engine, and sends nothing itself: the engine sends a question to a PE.
//
// # Threads and order
//
// The engine's lock is held in each method of Endpoint. A reader of the page is another process
// without a lock: it may see words of different moments, each word whole.
package report
