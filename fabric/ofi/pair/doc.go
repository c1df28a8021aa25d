// Package pair owns the state of the connections between one endpoint and its peers: when a side
// requests a connection, which of two survives when both request one at the same time, when a
// connection may be used, and when a peer is lost.
//
// It has no libfabric in it. It acts on the network through Network, which fabric/ofi implements
// with message endpoints and the tests with a simulated network, so that the tests can try every
// order of requests, replies, losses and ends.
//
// A handshake has three steps. The side that wants to send makes a request. The other side accepts
// it, and keeps the connection without using it. The first side verifies the reply, sends a
// confirmation and uses the connection; on the confirmation the other side uses it, too. A side
// that needs the connection and still waits for the confirmation sends a reminder after a second,
// because a word may have been damaged in transit; the first side then confirms again. If both
// sides make a request, the request of the lower PE goes on, and that of the higher PE is refused.
//
// A request without a reply is made again after 10 s, and after twice that each further time. The
// peer may be slow, so an earlier request, or a word by a connection that was given up, may still
// come: it is counted apart from those of strangers. Words may also come before the reply that proves
// them; they are kept until then.
//
// A connection that breaks before it is confirmed is requested again. If a connection breaks after
// that, messages may have been lost with it, and neither side knows which. Then a side makes a
// request, to find out whether the peer lives. If the peer lives, both sides give each other up at
// once. If not, the peer's process has ended, and the PE is lost when an operation needs it. A peer
// that has sent the word that it leaves gets no request.
//
// A pair takes memory from its first use on. There is no thread here: the caller serialises all
// calls, and nothing sleeps.
package pair
