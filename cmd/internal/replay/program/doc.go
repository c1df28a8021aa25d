// Package program turns the recorded calls of a job into the programs of its PEs: for each thread a
// list of calls, the time that it computes between them, and what each call has to wait for.
//
// It owns the meaning of names of functions, the rule by which a wait is matched with the update
// that ended it, and the refusal of recordings that are not complete. It does not know a network,
// nor the format of files: its caller passes calls one by one.
//
// # What a wait waits for
//
// A recording has no addresses of words. So the package assumes that a wait needed, from each other
// thread of the job, the last update of this PE that had begun when the wait ended: it may have
// seen that update and all before it. Updates of that kind are put with signal, atomic operations,
// p, and puts of up to 8 bytes; a thread that never makes one of these to the PE may have used
// larger puts as flags, and then those are considered. A wait for a signal considers signals and
// atomic operations only, unless the thread has none. This is more than a program needs if a thread
// has updated the PE again before the waiting thread could poll: the replay then waits for an
// update that the program would not have waited for. It is never less than the program needs, as
// long as the clocks are right.
//
// # What else is assumed
//
// Time between two calls of a thread is computation. A thread begins after the last call that
// another thread of its PE had ended by then, and the first thread waits for the end of those
// threads that ended before its next call. Collectives of one team by several threads of a PE keep
// their order, which the program must have made sure of. Other waits between threads of a PE, for example for a
// mutex, are not recognised, and take as long as recorded. A loop that calls test, or g, until
// something has changed makes as many calls as recorded.
//
// It starts no thread, and its values are not safe for concurrent use.
package program
