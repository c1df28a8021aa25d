// Package chaos makes the network of a running job as bad as a network may be. It
// is a fabric.Provider around another one: what is posted waits for a while of its
// own before the other provider gets it, writes go in pieces that wait each for
// itself, completions come late, and calls are refused. So a program that leaves out
// a fence, or a library that takes an order for granted, is caught on one machine
// and over plain tcp.
//
// It owns the delays, the immediate data of writes, which it carries itself in
// messages (note.go), and the promise of Caps.DeliveryComplete, which is the only one
// that it makes: without it nothing larger than a message could be completed on a
// network without order. It does not own connections, memory or
// receives, and it repeats and loses nothing: a provider answers for that.
//
// # What is the same each time
//
// What happens to a packet is a function of the seed, the numbers of the two PEs,
// and its own number between them (sim.Faults.FateOf). When programs run, and so
// what has number 17, is the operating system's affair: a seed makes a mistake
// likely to show again, and does not promise it.
//
// # Time
//
// Delays are real time. Whoever polls posts what is due; Wait ends when something
// is. A process that neither polls nor waits delays more.
package chaos
