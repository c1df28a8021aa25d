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
// the other hears the confirmation and uses it, too. A side that needs the connection and waits for
// the confirmation says so after a second, because a word may have been changed on its way; the
// first then confirms again. Where both ask, the request of the lower PE goes on and the other is
// refused. A connection that breaks before it is confirmed is asked for again. When one breaks
// later, messages may have been lost with it, and neither side knows which. A request finds out
// whether the peer lives. If it does, both sides lose each other at once. If it does not, the
// process has ended, and the PE is lost when an operation needs it. A peer that has said that it
// leaves is not asked.
//
// A pair takes memory from its first use on. There is no thread here: the caller serialises all
// calls, and nothing sleeps.
package pair
