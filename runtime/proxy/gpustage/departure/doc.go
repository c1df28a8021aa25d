// Package departure copies bytes out of GPU memory, through pinned memory, and sends them.
//
// A departure is a put of this PE, or the get of another PE. Small pieces go in messages. For a
// larger one a request to send goes out, and its chunk is free when the other PE has read it. The
// same pieces carry copies between main memory and heaps that are mapped here.
//
// Departures owns the pieces that wait for a copy, the pieces that wait to be sent, and the chunks
// that another PE may read. It does not own the puts of callers before they depart, nor the order
// of copies to mapped heaps. All methods are called with the engine's lock held, and none waits.
package departure
