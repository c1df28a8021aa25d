// Package rail makes one fabric.Provider of several, each an endpoint on a NIC of its own. It
// decides by which NIC an operation goes and into which parts a large one is cut, keeps the keys of
// memory that is registered with every NIC, and moves operations to other NICs when one fails. It
// opens no endpoint and knows no heap and no order of OpenSHMEM's. A PE with one NIC does not use
// it.
//
// # Pairs of NICs
//
// A pair is a NIC of this PE and a NIC of the other PE. The NICs of both endpoints are numbered in
// the order of their lists, and the n-th operation of PE me on a peer goes by number me+peer+n of
// both, each by its own count: so one rail of the network carries it, different pairs of PEs begin
// on different rails, and endpoints with unequal numbers of NICs use all of them alike. Other pairs
// of NICs are used only after a pair has failed (nicpairs.go).
//
// Small operations stay on one NIC until it has got a few of them, for any PE, because a NIC whose
// doorbell is rung once for all of them sends them sooner; then the next NIC gets some. Large ones
// are cut up, or go to one NIC after the other, as the Policy says (choose.go).
//
// # Promises
//
// There is no order between NICs, so Caps promise none, no fences, and no atomic operations: two
// operations on a word by different NICs are not atomic together. A Write is complete when all of
// its parts are. A Write with Notify is not cut up, so that its number means all of its bytes.
//
// # Keys
//
// Memory has another key for each NIC and fabric.Region has one. So a Region's key names a row of a
// table in memory of the PE that registered it. Peers read the row with a one-sided Read at first
// use, while the operation is refused with ErrAgain. The rows of memory registered before Addr
// travel with the address (keys.go).
//
// # A NIC that fails
//
// A completion with an error takes its pair out of use, unless the error is the operation's own
// fault. The operation is posted again on another pair, if it may be done twice. A Read and a Write
// may: the first attempt has ended with its error, and until the second one completes no program
// relies on the bytes. A Write with Notify may reach the target twice, and so may a message whose
// acknowledgement was lost: Caps.Repeats says so, and the target drops repetitions by their
// numbers. A message may not be repeated, and is not, where it completes before it has arrived
// (without Caps.SendComplete of the NICs): other messages may have been lost there without an
// error, so the caller gets the error; and an error of a connection, which belongs to no operation,
// is an error of its PE.
// Where messages complete at the target nothing is injected directly: small messages are copied,
// and kept until they have arrived.
//
// An operation that waits for the first contact with a NIC that has failed never completes. Such
// operations are found by their pair of NICs and posted on another pair (contact.go).
//
// Config.Lost gets the first failure of each NIC, once.
//
// # Callers in C
//
// The C functions of package peek receive messages and send small ones, where the NICs have
// functions for that; but messages that are kept until they have arrived, because they may have to
// be sent again, leave by Go.
//
// # Threads
//
// One caller at a time, but for Wait and Wake, like any fabric.Provider.
package rail
