// Package sim simulates a network inside one process: a fabric.Provider for each endpoint, and
// between them NICs, rails and packets that are as slow, late, repeated, lost and disordered as a
// Model says. It is worse than any real network, and each of its runs can be repeated.
//
// It owns the promises of fabric.Caps: it keeps each promise of a model and uses all the freedom
// that the others leave. It knows nothing of the senders and their messages: no heap, no proxy, no
// ordering of OpenSHMEM's.
//
// # Time
//
// Time is virtual, in nanoseconds. It stands still until some endpoint polls: each Poll of any
// endpoint handles the next event of the whole network, wherever it happens, and moves the clock to
// it. A Poll when nothing is under way moves it by idleStep. Wait sleeps in real time, but only
// while nothing is under way. No goroutine and no timer belongs to a Network. With Manual a test
// picks the next event itself, so that it can try every order of them.
//
// # Determinism
//
// What happens to a packet is a function of the seed, the addresses of its two endpoints and its
// number between them (faults.Faults.OutcomeOf); whether a call is refused, of the seed, the
// endpoint and the number of the call. Events of one instant are handled in the order in which they
// were planned. So the same calls in the same order give the same network to the bit: equal values
// of Network.Trace prove that two runs were the same. Callers may share a Network between
// goroutines, as with other providers, but then lose this property.
//
// # What a packet may suffer
//
// Messages and the bytes of reads and writes are cut at the MTU. Packets wait for the NIC's wire at
// both endpoints, overtake each other, arrive in two pieces, arrive again, or are lost and sent
// again after a while. A provider is responsible for a reliable network, so none of this may show
// but in the order and the time of events that Caps leave open: a token completes once, whatever
// the packets did. A packet that arrives again is written again as long as its Write is not
// complete, which no correct caller can see, and is dropped later.
//
// # Sockets
//
// With Model.PollBytes an endpoint reads the network as over TCP: arrived bytes lie in a socket,
// and only a Poll of that endpoint reads them, a bounded number each time. A write leaves no
// completion there. Ready reports unread bytes, and Arm then returns false. Arrivals end a Wait;
// bytes that had arrived before its Arm do not. A socket holds any number of bytes: Model.Depth
// bounds the bytes that a sender has under way.
//
// # Handshakes, and messages without a buffer
//
// Two models are like the two fabrics of Amazon's NIC (nics.go). In one a Write to a peer waits
// until the peer has polled (handshake.go) and only Polls move messages (socket.go); in the other a
// message that finds no receive buffer is tried again (retry.go), and a Write fails if the target
// does not have its sender among its peers.
//
// # Loss
//
// A NIC may fail and come back, and an endpoint die as its process would, with another one, its
// successor, at its address afterwards (fail.go). Operations under way complete with an error when
// Model.Detect has passed, and the successor gets none of them.
package sim
