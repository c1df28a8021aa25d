// Package proxy moves bytes between the symmetric heaps of PEs that share no
// memory. It owns the protocol on top of a fabric.Provider: active messages,
// one-sided writes and reads, and what fence and quiet mean. It does not know
// launchers, teams or allocation, nor the rings of kernels and the thread that
// serves while the program does something else (package loop). It never waits
// for a peer: an operation is posted, or refused with Again, and the caller
// waits in C.
//
// # Threads
//
// An Engine is a monitor. One lock word, shared with C, is held around every
// method that does not say otherwise; a thread that waits in C takes it by
// try-lock and polls, and the proxy thread naps as long as such threads exist.
// The engine starts no thread. Of the one that drives it (loop.Loop) it knows
// whether it sleeps, and wakes it for what must not wait (monitor.go).
//
// A PE may have several engines over one memory, each with its own provider,
// lock and thread; engine i talks to engine i of the other PEs. They know
// nothing of each other. What they apply is atomic together, for it is done by
// the CPU's atomic instructions. Order, fence and quiet hold within one: what
// one engine posts is ordered behind what another has posted only by a quiet
// of that other.
//
// # Active messages
//
// What fits one message travels as one: elements, atomics, signals and small
// puts. The target applies it with the same CPU instructions that PEs of its
// own node use, so that all atomics on an object are atomic together and no
// reader sees half of an element. Larger puts are one-sided writes, gets are
// one-sided reads.
//
// Each message carries the token of its job and the number of its sender. What does
// not, and what has come before, is dropped and counted (package report).
//
// # Order
//
// Messages of one PE to another are applied in the order of posting, by a
// sequence number that the target sorts by: also a provider that keeps messages
// in order need not complete their receives so (comp_order of libfabric's
// fi_rx_attr; tcp promises none).
//
// Where messages may overtake writes, the target keeps that order too (number.go and
// package sequence): a write brings its number as immediate data, a message says how
// many writes have to be in before it is applied, and one that is early is kept,
// which its sender's credits bound. A put with signal is a write and, right behind
// it, a message. Where a write can have no number, the provider's own fence keeps
// messages behind it, or else the sender does.
//
// What the target cannot keep the sender does (queue.go): a write that a fence orders
// behind messages waits until they have been applied, and behind writes until those
// are in, unless the provider keeps the order of writes or has a fence. It waits in
// the engine, with what is posted to the same PE later, and not in its caller.
//
// Fence counts for each PE by the order of posting: an operation that was
// posted after a call of Fence is ordered behind those to the same PE that were
// posted before it. A caller that was refused with Again has posted nothing; it
// keeps the order of its operations on that PE by itself, and calls Fence again
// where it posts operations of before a fence late. More calls than fences
// order more, and are never wrong.
//
// # Contexts
//
// A context of the program is an Engine of its own, which shares the provider, its
// tokens and the lock with the first one and nothing that orders or completes
// (context.go, and docs/decisions/0023). What this page says of messages, fences,
// quiets and credits of a PE holds for each of them.
//
// # Quiet
//
// QuietBegin covers everything posted before it and nothing that it finds
// posted later, but for what is posted while another quiet is under way, with
// which it may share a generation. Each PE that was touched gets a flush
// message, which is answered after all that was sent before it has been
// applied. An operation that failed with no caller waiting for it fails the
// quiets of its generation.
//
// # Credits
//
// What is under way to one PE is bounded, in operations, in bytes and in
// messages without an answer, so that a PE that does not answer leaves room for
// the others. Again says that the operation's PE has no credit, or the provider
// no room; Full tells whether it was the endpoint.
//
// Messages without an answer are counted in units, of which one takes more the
// larger it is. All PEs together may have 2^20 of them and 64 MiB at one PE,
// and each has its part (credit.go: credits, and docs/decisions/0015). That
// bounds what waits for a PE that does not poll, in whatever provider, and what
// one that polls keeps because earlier messages have not come. The engine's own
// messages need no credit, or a quiet might wait for itself: flushes, of which a
// PE has one under way, answers, which are bounded by the tokens of who asks,
// and signals that follow bytes, whose credit was looked at before the bytes went.
//
// # Flight recorder
//
// The last events with each PE are kept, and those of the loop, with their times (package
// flight): for reports of waits that do not end, and for other processes.
//
// # GPU memory
//
// What concerns GPU memory is done by a GPU, which an engine is given (Use; package gpustage).
// The engine asks it first, and does what it does not. C leaves to Go what concerns GPU memory.
package proxy
