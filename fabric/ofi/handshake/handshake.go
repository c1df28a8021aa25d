// Package handshake owns the bytes by which two endpoints of a job prove to each other, while they
// connect, that they belong to the job: a request, its reply, and short messages, called words, of
// which one ends the handshake. A request and a reply fit into the 256 bytes of a connection
// request of libfabric, and the proof of a word into 4 bytes of immediate data.
//
// It knows neither sockets nor libfabric, starts no thread and keeps no state. fabric/ofi/pair
// decides when to request a connection, and which of two survives.
//
// Each endpoint has an ID, which is random and travels with its address over the launcher. A MAC
// covers the IDs of both sides, so a recorded request proves nothing to another endpoint, nor to a
// later one at the same port. The reply covers the nonce of the request, and the last word covers
// both nonces. So no side uses a connection before it has seen a MAC over its own nonce, and a
// process that replays a recorded request gains nothing.
package handshake

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"libshmem"
)

// Key is the key of the MACs. Only the PEs of the job have it.
type Key [32]byte

// ID distinguishes an endpoint from all others, earlier ones at the same address included.
type ID [16]byte

// Nonce is a random number of one side of one handshake.
type Nonce [16]byte

// Random draws an ID or a nonce.
func Random[T ID | Nonce]() (r T) {
	b := [16]byte{}
	rand.Read(b[:]) //nolint:errcheck // it never fails: without randomness it ends the process
	return T(b)
}

// Side is one of the two endpoints.
type Side struct {
	PE libshmem.PE
	ID ID
}

// Request is a request for a connection. The numbers of the requests from one endpoint to another
// rise.
type Request struct {
	From, To libshmem.PE
	Number   uint64
	Seen     uint64 // the highest number of a request that the sender has got from the other endpoint
	Nonce    Nonce
}

// Verdict is the outcome of a request.
type Verdict uint8

// The verdicts.
const (
	Accepted Verdict = 1 + iota
	Crossing         // the other side has a request under way, too, which goes on
	Lost             // the other side has given this PE up
)

// Reply is the reply to a request.
type Reply struct {
	Verdict Verdict
	Nonce   Nonce
}

// Word is the meaning of a short message on a connection whose request was accepted. It travels
// with 4 bytes of proof, in the immediate data of a Write.
type Word uint8

// The words, which either side may send. The proof of a word covers the nonces of both sides.
const (
	Confirmed Word = 1 + iota // the requesting side has accepted the reply
	Leaving                   // a side closes its endpoint
	Missing                   // the replying side has not received Confirmed
)

// The form of requests and replies: a mark with the version, the kind, the PEs of the sender and of
// the other side, Request.Number and Request.Seen, a nonce, and the MAC.
const (
	mark     = 0x01_6d_68_73 // "shm", version 1
	kindAt   = 4             // one byte; the three after it are 0
	fromAt   = 8
	toAt     = 12
	numberAt = 16
	seenAt   = 24
	nonceAt  = 32
	macAt    = nonceAt + 16
	request  = 0xff // the kind of a request; that of a reply is its verdict

	// Size is the number of bytes of a request or a reply.
	Size = macAt + sha256.Size
)

// message encodes a request or a reply without its MAC, which stays zero. kind is `request`, or the
// verdict of a reply. number counts the requests of a PE to another one; seen is the highest number
// of the other PE's requests that this one has got, 0 in a reply.
func message(kind uint8, from, to libshmem.PE, number, seen uint64, nonce Nonce) []byte {
	b := make([]byte, Size)
	binary.LittleEndian.PutUint32(b, mark)
	b[kindAt] = kind
	binary.LittleEndian.PutUint32(b[fromAt:], uint32(from))
	binary.LittleEndian.PutUint32(b[toAt:], uint32(to))
	binary.LittleEndian.PutUint64(b[numberAt:], number)
	binary.LittleEndian.PutUint64(b[seenAt:], seen)
	copy(b[nonceAt:], nonce[:])
	return b
}

// mac returns the MAC of a message from one endpoint to another: over the message, the IDs of both,
// and in a reply the nonce of the request, `requested`, which is zero in a request.
func (k *Key) mac(b []byte, from, to ID, requested Nonce) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("connection\x00"))
	h.Write(b[:macAt])
	h.Write(from[:])
	h.Write(to[:])
	h.Write(requested[:])
	return h.Sum(nil)
}

// Request encodes a request from the endpoint `from` to the endpoint `to`, with its MAC.
func (k *Key) Request(r *Request, from, to ID) []byte {
	b := message(request, r.From, r.To, r.Number, r.Seen, r.Nonce)
	copy(b[macAt:], k.mac(b, from, to, Nonce{}))
	return b
}

// Parse decodes a request. Until Verify has checked it, any process may have sent it.
func Parse(b []byte) (r Request, err error) {
	switch {
	case len(b) != Size:
		return r, fmt.Errorf("a request of %d bytes, not %d", len(b), Size)
	case binary.LittleEndian.Uint32(b) != mark || b[kindAt] != request || b[5]|b[6]|b[7] != 0:
		return r, fmt.Errorf("not a request of this version: it begins with %x", b[:fromAt])
	}
	r = Request{
		From: libshmem.PE(binary.LittleEndian.Uint32(b[fromAt:])), To: libshmem.PE(binary.LittleEndian.Uint32(b[toAt:])),
		Number: binary.LittleEndian.Uint64(b[numberAt:]), Seen: binary.LittleEndian.Uint64(b[seenAt:]), Nonce: Nonce(b[nonceAt:macAt]),
	}
	if r.From < 0 || r.To < 0 {
		return r, fmt.Errorf("a request from PE %d to PE %d", r.From, r.To)
	}
	return r, nil
}

// Verify reports whether the endpoint from made the request b for the endpoint to.
func (k *Key) Verify(b []byte, from, to ID) bool {
	return len(b) == Size && hmac.Equal(b[macAt:], k.mac(b, from, to, Nonce{}))
}

// Reply encodes the reply a to the request r, with its MAC, which covers the request's nonce. from
// is the ID of the endpoint that replies, to that of the one that made the request.
func (k *Key) Reply(a Reply, r *Request, from, to ID) []byte {
	b := message(uint8(a.Verdict), r.To, r.From, r.Number, 0, a.Nonce)
	copy(b[macAt:], k.mac(b, from, to, r.Nonce))
	return b
}

// Check decodes the reply to the request r. It fails unless the endpoint `from` made it for this
// request: only processes of the job know the key of its MAC, and the MAC covers the request's
// nonce, so an old reply is refused. from and to are those of Key.Reply.
func (k *Key) Check(b []byte, r *Request, from, to ID) (a Reply, err error) {
	switch {
	case len(b) != Size:
		return a, fmt.Errorf("an answer of %d bytes, not %d", len(b), Size)
	case !hmac.Equal(b[macAt:], k.mac(b, from, to, r.Nonce)):
		return a, fmt.Errorf("an answer without the proof that it comes from the job")
	}
	a = Reply{Verdict(b[kindAt]), Nonce(b[nonceAt:macAt])}
	expected := message(uint8(a.Verdict), r.To, r.From, r.Number, 0, a.Nonce)
	if !hmac.Equal(b[:macAt], expected[:macAt]) || a.Verdict < Accepted || a.Verdict > Lost {
		return a, fmt.Errorf("an answer to another request")
	}
	return a, nil
}

// Proof returns the proof of a word from one side of an accepted handshake. request and reply are
// the nonces of the request and of its reply.
func (k *Key) Proof(w Word, from libshmem.PE, request, reply Nonce) uint32 {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("word\x00"))
	h.Write([]byte{byte(w)})
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(from)))
	h.Write(request[:])
	h.Write(reply[:])
	return binary.LittleEndian.Uint32(h.Sum(nil))
}
