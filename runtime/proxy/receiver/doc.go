// Package receiver takes the messages of other PEs to a context. It drops messages of other jobs
// and messages that have come before, keeps early ones, and applies the others in the order of
// posting. It owns the numbers of writes that have arrived (number.go), and the effect of each kind
// of message on main memory (apply.go). It does not send: answers go by the interface Sender.
//
// It starts no thread and takes no lock: its caller holds the engine's lock in each call. Elements
// change by the CPU's atomic instructions (package mem), as operations of the same node change
// them.
package receiver
