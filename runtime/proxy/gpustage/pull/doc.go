// Package pull reads bytes that other PEs have announced, or that this PE gets, from their memory.
//
// The PE that has the bytes holds them in memory that the fabric reaches, and sends a request to
// send. This side reads them: into place if that is main memory, else into a chunk of pinned
// memory, which a copy engine empties. Then it answers that it has finished.
//
// Pulls owns the requests and the reads that are under way, and the chunks that are read into. It
// does not own the gets, which learn of their bytes by Gets, and the order of other messages, whose
// progress it looks at. All methods are called with the engine's lock held, and none waits.
package pull
