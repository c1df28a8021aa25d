// Package secret is the shared secret of the PEs of one job: random bytes that the launcher makes,
// and proofs that a process knows them, which reveal nothing to an eavesdropper.
//
// The launcher passes the secret to a PE over the socket that the PE inherits. It is in no command
// line, which every user of the machine can read, in no file, and in no environment variable, which
// the PE's own children would inherit and /proc shows to all processes of the user.
//
// The package owns the cryptography, for which it uses Go's library, and knows neither sockets nor
// frames. Its functions are safe for concurrent use.
package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// Secret is the shared secret of one job.
type Secret [32]byte

// New makes a random secret.
func New() (s Secret) {
	rand.Read(s[:]) //nolint:errcheck // it never fails: without randomness it ends the process
	return s
}

// Nonce is a random number that is used once, so that a proof that was overheard is not valid a
// second time.
type Nonce [16]byte

// NewNonce makes a random nonce.
func NewNonce() (n Nonce) {
	rand.Read(n[:]) //nolint:errcheck // it never fails
	return n
}

// Proof shows that its maker knows the secret.
type Proof [sha256.Size]byte

// Prove makes the proof of one side of a connection, over a nonce of each side: mine is that of the
// side that proves, theirs that of the side that checks. The sides have different roles, so that a
// proof is of no use when it is sent back to its maker.
func (s *Secret) Prove(role string, theirs, mine Nonce) (p Proof) {
	h := hmac.New(sha256.New, s[:])
	h.Write([]byte(role))
	h.Write([]byte{0})
	h.Write(theirs[:])
	h.Write(mine[:])
	h.Sum(p[:0])
	return p
}

// Check reports whether p is the proof of the other side, in its role and with its nonce, theirs;
// mine is the nonce of this side, which checks.
// The time that Check takes says nothing about p.
func (s *Secret) Check(p []byte, role string, mine, theirs Nonce) bool {
	want := s.Prove(role, mine, theirs)
	return hmac.Equal(p, want[:])
}

// Number derives a number for a purpose from the secret. It is the same on every PE of the job,
// differs by job and purpose, and does not reveal the secret.
func (s *Secret) Number(purpose string) uint64 {
	p := s.Prove("number for "+purpose, Nonce{}, Nonce{})
	return binary.LittleEndian.Uint64(p[:])
}

// Key derives a key for a purpose from the secret. Like a Number, it is the same on every PE of the
// job, differs by job and purpose, and does not reveal the secret.
func (s *Secret) Key(purpose string) [32]byte { return s.Prove("key for "+purpose, Nonce{}, Nonce{}) }

// SealKey derives a key for the seals of messages: the first 16 bytes of the Key for the purpose.
func (s *Secret) SealKey(purpose string) [2]uint64 {
	k := s.Key(purpose)
	return [2]uint64{binary.NativeEndian.Uint64(k[:]), binary.NativeEndian.Uint64(k[8:])}
}
