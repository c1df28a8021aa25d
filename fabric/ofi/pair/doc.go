// Package pair owns the state of the connections between one endpoint and its peers: when one is
// asked for, which of two survives when both sides ask at the same time, when a connection may be
// used, and when a peer is lost.
//
// It has no libfabric in it. What it does to the network it does through Network, which fabric/ofi
// has over message endpoints and the tests over a simulated network, so that the tests can try the
// orders in which requests, answers, losses and ends may come.
//
// A handshake has three steps. The side that wants to send asks; the other answers, and keeps the
// connection without using it; the first verifies the answer, confirms it and uses the connection;
// the other hears the confirmation and uses it, too. Where both ask, the request of the lower PE
// goes on and the other is refused. A connection that breaks before it is confirmed is asked for
// again. One that breaks later loses the peer, unless the peer has said before that it leaves:
// messages may have been lost with the connection, and nobody could know which.
//
// A pair takes memory from its first use on. There is no thread here: the caller serialises all
// calls, and nothing sleeps.
package pair
