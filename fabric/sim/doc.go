// Package sim simulates a network inside one process: a fabric.Provider for each endpoint, and
// between them NICs, rails and packets that are as slow, late, repeated, lost and disordered as a
// Model says. Its faults are more frequent than those of a real network, and each of its runs can
// be repeated.
//
// It owns the promises of fabric.Caps. It keeps the promises that a model makes. Where a model
// makes none, packets arrive in any order and form that fabric.Provider allows, so that a sender
// that relies on more fails. It knows neither the senders nor the meaning of messages: no heap, no
// proxy, none of OpenSHMEM's rules about order.
//
// # Time
//
// Time is virtual, in nanoseconds. It stands still until some endpoint polls: each Poll of any
// endpoint handles the next event of the whole network, wherever it happens, and moves the clock to
// it. A Poll while nothing is under way moves it by idleStep. Wait sleeps in real time, but only
// while nothing is under way. A Network has no goroutine and no timer. With Manual a test picks the
// next event itself, so that it can try all orders of events.
//
// # Determinism
//
// What happens to a packet is a function of the seed, the addresses of its two endpoints and its
// number between them (faults.Faults.OutcomeOf). Whether a call is refused is a function of the
// seed, the endpoint and the number of the call. Events of one instant are handled in the order in
// which they were planned. So the same calls in the same order give the same events: equal values
// of Network.Trace prove that two runs were the same. Callers may share a Network between
// goroutines, as with other providers, but then their calls have no fixed order.
//
// # Faults of packets
//
// Messages and the bytes of reads and writes are cut at the MTU. Packets wait for the NIC's wire at
// both endpoints, overtake each other, arrive in two pieces, arrive again, or are lost and sent
// again after a while. A provider has to be reliable, so callers see these faults only in the time
// of events, and in their order as far as Caps do not promise it: a token completes once. A packet
// that arrives again is written again while its Write is not complete, which no correct caller can
// see, and is dropped later.
//
// # Sockets
//
// With Model.PollBytes an endpoint reads the network as over TCP: bytes that arrive stay in a
// socket until a Poll of that endpoint reads them, a bounded number each time. A write makes no
// completion at its target. While bytes are unread, Ready returns true and Arm returns false. Bytes
// that arrive after Arm end a Wait; earlier ones do not. A socket holds any number of bytes:
// Model.Depth bounds the operations that a sender has under way.
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
// A NIC may fail and work again. An endpoint may end as if its process was killed, and another one,
// its successor, may then have its address (fail.go). Operations under way complete with an error
// when Model.Detect has passed, and the successor gets none of them.
package sim
