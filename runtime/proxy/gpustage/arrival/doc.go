// Package arrival applies messages that change GPU memory, or that have to follow one that does, in
// the order of the PE that sent them.
//
// Messages of one PE take effect in their order, as they do on main memory. On GPU memory that is
// the order of one stream: bytes, signals and elements are put into it as their messages come,
// without a wait. A message waits only for bytes of earlier requests to send that have not come
// yet, for an atomic operation that takes more than one step, and, if the CPU has to apply it, for
// the stream.
//
// Arrivals owns the messages that wait, and the atomic operations that are under way. It does not
// own the streams, the slots for bytes, and the reads of announced bytes, whose progress it looks
// at. All methods are called with the engine's lock held, and none waits for a GPU.
package arrival
