// Package report is what an endpoint says of itself. Other processes read its page: counts, NICs,
// registrations, work of a GPU that is not done, and the events of the flight recorder. People
// read how far it is with a PE, and which messages it has dropped.
//
// It owns the page: its head, where the state of the engine is in it, and where the recorder's
// rings begin. It knows the engine by the interface Engine, and does nothing of the protocol: a
// question to a PE is sent by the engine. What the state is used for is the engine's, and which
// events are noted, too.
//
// # Threads and order
//
// The lock of the engine is held around each method of Endpoint. A reader of the page is another
// process without a lock: it may see words of different moments, each word whole.
package report
