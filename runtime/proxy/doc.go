// Package proxy moves bytes between the symmetric heaps of PEs that share no memory. It owns the
// protocol on top of a fabric.Provider: active messages, one-sided writes and reads, and the
// meaning of fence and quiet. It does not know launchers, teams or allocation. It does not know the
// rings of kernels either, nor the thread that serves while the program does something else
// (package loop). It never waits for a peer: an operation is posted, or refused with Again, and the
// caller waits in C.
//
// # The path of an operation
//
// A put:
//
//  1. post.go: Engine.Put chooses a message (up to layout.MaxPut bytes, or layout.MaxPayload with a
//     signal) or a one-sided write.
//  2. sender.go: begin returns the header of a message, if credit and order allow (credit.go).
//  3. queue.go, batch.go: it waits because of a fence, or shares a message with other operations.
//  4. message.go: Send stamps it and passes it to the provider.
//  5. write.go: a one-sided write is posted, or waits. When it may be posted is in write_order.go,
//     its number in numbers.go, the registration of its source in register_local.go.
//
// A get:
//
//  1. post.go: Engine.Get.
//  2. read.go: Read posts the one-sided read, and CompleteRead completes it.
//
// A message at its target:
//
//  1. complete.go: Engine.Complete gets a completion; receive checks the job's token or the seal.
//  2. receiver.go: the message is dropped, stored in package early, or applied as the next one.
//  3. arrived.go: it waits for the numbered writes that it follows.
//  4. apply.go: its effect on memory (package mem), and the reply if it is a request.
//
// A put with signal:
//
//  1. post.go: Engine.PutSignal sends bytes and signal as one message, or writes the bytes.
//  2. write.go: sendFollowing sends the signal after the write as soon as the target can keep their
//     order, and CompleteWrite when the write is complete.
//  3. arrived.go: a notification arrives with the number of the write itself.
//
// A completion:
//
//  1. complete.go: Engine.Complete completes the operation of its token (operation_record.go,
//     tokens.go), and reports one that failed.
//  2. operations.go: Complete completes the request of a caller.
//  3. generations.go: a quiet (quiet.go) waits for operations without a request, and requests
//     replies from PEs with flush messages (message.go).
//  4. lost.go: a PE that cannot be reached loses its operations; leave.go: a PE ends.
//
// engine.go makes an engine, context.go the further contexts of one, and fastpath_unsafe.go the
// state that they share with C. network.go is this PE's end of the network: provider, buffers, the
// memory of other PEs, and lost PEs (network_lost.go). monitor.go serves the proxy thread, which
// drives the engine; report.go describes the endpoint to people and to other processes. gpu.go sets
// the engine's GPU stage, and host.go has the functions that the stage calls.
//
// Below the engine are packages that it shares with C, its loop or GPU staging:
//
//   - layout: the state that C and Go share, and the rules for the record of a PE (layout.Peer)
//   - call: requests, statuses and limits, which engines exchange with callers and loop
//   - mem: this PE's slice of symmetric memory, and what messages do there
//   - early: messages that arrived before earlier ones
//   - wake: the lock, the nap of the proxy thread (its sleep while callers poll), and the sleep of
//     callers
//   - flight: the flight recorder
//   - backlog: the work that was put into streams of a GPU and is not carried out
//   - fastpath: small messages and the inner loop in C, without Go
//   - loop: the thread that polls and sleeps, and the consumer of rings
//   - gpustage: bytes of GPU memory, on the streams of a driver
//
// Package wait has the sleep of an idle proxy in C, clock the time of events, and fifo a queue.
// Package runtime/job gives an engine its loop and its GPU.
//
// # Threads
//
// An Engine is a monitor. One lock word, shared with C, is held around every method that does
// not say otherwise. A thread that waits in C locks the engine by try-lock and polls, and the proxy
// thread naps while such threads exist. The engine starts no thread. It knows one thing about
// the thread that drives it (loop.Loop): whether that sleeps. It wakes the thread for work that
// must not wait (monitor.go).
//
// A PE may have several engines over one memory, each with its own provider, lock and thread.
// Engine i talks to engine i of the other PEs. Engines know nothing of each other. Their atomic
// operations are atomic together, because the CPU's atomic instructions do them. Order, fence and
// quiet hold within one engine: operations of one engine are ordered after those of another only
// by a quiet of that other.
//
// # Active messages
//
// An operation that fits one message travels as one: elements, atomics, signals and small puts. The
// target applies it with the same CPU instructions that PEs of its own node use, so that all
// atomics on an object are atomic together and no reader sees half of an element. Larger puts are
// one-sided writes, gets are one-sided reads.
//
// Each message carries the token of its job and the number of its sender. A message without them,
// or one that has arrived before, is dropped and counted (strangers.go).
//
// # Order
//
// The target applies the messages of one PE in the order of posting, by their sequence numbers. It
// sorts them even on a provider that keeps messages in order, because such a provider need not
// complete their receives in that order (comp_order of libfabric's fi_rx_attr; tcp promises none).
//
// Where messages may overtake writes, the target keeps that order too (arrived.go, numbers.go
// and package sequence): a write carries its number as immediate data, a message says how many
// writes have to arrive before it is applied, and the target stores a message that is early. The
// sender's credits bound how many it stores. A put with signal is a write and, right after it, a
// message. If a write can have no number, the provider's own fence keeps messages after it, or
// else the sender does.
//
// The sender keeps the order that the target cannot keep (queue.go). A write that a fence orders
// after messages waits until they have been applied. A write that a fence orders after writes
// waits until those have arrived, unless the provider keeps the order of writes or has a fence. It
// waits in the engine, with later operations on the same PE after it, and not in its caller.
//
// Fence counts for each PE by the order of posting: an operation that was posted after a call of
// Fence is ordered after the operations on the same PE that were posted before it. A caller that
// was refused with Again has posted nothing. It keeps the order of its operations on that PE by
// itself, and calls Fence again if it posts operations from before a fence late. More calls than
// fences order more, and are never wrong.
//
// # Contexts
//
// A context of the program is an Engine of its own. It shares the provider, its tokens and the lock
// with the first engine, and nothing that orders or completes (context.go, and
// docs/decisions/0023). The rules on this page for messages, fences, quiets and credits of a PE
// hold for each context.
//
// # Quiet
//
// QuietBegin covers all operations that were posted before it. It covers later ones only if another
// quiet is under way, because the two may then share a generation. Each PE that was sent to gets a
// flush message, and replies after it has applied all messages that were sent before. If an
// operation fails and no caller waits for it, the quiets of its generation fail.
//
// # Credits
//
// Operations, bytes, and messages that a PE has not acknowledged are bounded for each PE, so that a
// PE that does not reply does not block the others. Again means that the operation's PE has no
// credit, that no token is free, or that the provider's queue is full; Full reports whether no
// operation on any PE can be posted.
//
// Unacknowledged messages are counted in units; a larger message costs more units. All PEs
// together may have 2^20 units and 64 MiB at one PE, and each has an equal share (credit.go, and
// docs/decisions/0015). That bounds the messages that wait in any provider for a PE that does not
// poll. It also bounds those that a polling PE stores because earlier messages have not arrived, or
// because earlier work on GPU memory is not complete: their memory is at most 1.6 times their
// credit (package early), and 32 bytes for each that waits for a GPU. The engine's own messages
// need no credit, or a quiet might wait for itself: flushes, of which a PE has one under way;
// replies, which the tokens of the requesting PE bound; and signals that follow bytes, whose credit
// was checked before the bytes were posted.
//
// # Flight recorder
//
// The last events with each PE, and those of the loop, are kept with their times (package flight):
// for reports of waits that do not end, and for other processes.
//
// # GPU memory
//
// An engine is given a GPU stage (Use; package gpustage), which handles GPU memory. The engine
// calls the stage first for each operation and message, and handles the rest itself. C leaves
// everything that concerns GPU memory to Go.
package proxy
