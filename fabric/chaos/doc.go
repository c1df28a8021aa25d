// Package chaos makes the network of a running job as bad as a network may be. It is a
// fabric.Provider around another one: each operation waits for a while of its own before the other
// provider gets it, writes are cut into pieces that each wait separately, completions are late, and
// calls are refused. A program that leaves out a fence, or a library that relies on an order
// without a promise, is then caught on one machine and over plain tcp.
//
// It owns the delays, the immediate data of writes, which it carries itself in messages (note.go),
// and the promise of Caps.DeliveryComplete. It makes no other promise. Without completions that
// mean delivery, nothing larger than a message could be completed on a network without order. It
// does not own connections, memory or receives, and it repeats and loses nothing: a provider has to
// be reliable.
//
// # What is the same each time
//
// What happens to a packet is a function of the seed, the numbers of the two PEs, and its own
// number between them (faults.Faults.OutcomeOf). The operating system decides when programs run,
// and so which packet has number 17: a seed makes a mistake likely to show again, and does not
// promise it.
//
// # Time
//
// Delays are real time. A thread that polls posts the operations that are due; Wait ends when one
// is. A process that neither polls nor waits delays more.
package chaos
