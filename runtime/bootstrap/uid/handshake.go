package uid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
)

// The handshake at the beginning of a connection between a PE and the root. All numbers are little
// endian.
//
//	PE:   magic 4, version 1, zeros 3, nonce 16
//	root: magic 4, version 1, zeros 3, nonce 16, proof 32
//	PE:   proof 32, claim 32
//	root: status 1, zeros 3, length 4, received 8, then a text unless the status is admitted
//
// A claim is: PE 4, size 4, session 8, received 8, fresh 1, zeros 7.
const (
	handshakeMagic   = "SHMC"
	handshakeVersion = 1
	handshakeLimit   = 5 * time.Second // for all of it
	openingLen       = 24
	claimLen         = 32
	verdictLen       = 16
	maxRefusal       = 4 << 10

	admitted, refused, refusedNow = 0, 1, 2 // the statuses; refusedNow: with Refusal.Later
)

var (
	errHandshake = errors.New("it does not prove that it knows this unique id")
	// ErrSecret reports that the process at an address knows another secret.
	ErrSecret = errors.New("it knows another secret")
)

// Refusal is the root's reply that a PE cannot join, with the reason.
type Refusal struct {
	Later bool // another process is this PE in the present job, but the root may begin another job later
	text  string
}

// Error returns the root's text.
func (r *Refusal) Error() string { return r.text }

// claim is the identity that a PE claims.
type claim struct {
	pe       libshmem.PE
	size     int
	session  uint64 // a number of this init, the same on each connection
	received uint64 // how many frames of the root it has received
	fresh    bool   // this is the first connection of this init
}

// opening returns the first message of each side of a handshake: the version and a nonce.
func opening(n secret.Nonce) []byte {
	b := append([]byte(handshakeMagic), handshakeVersion, 0, 0, 0)
	return append(b, n[:]...)
}

// parseOpening decodes the first message of a handshake, and returns the nonce of its sender.
func parseOpening(b []byte) (n secret.Nonce, err error) {
	if string(b[:4]) != handshakeMagic {
		return n, errHandshake
	}
	if b[4] != handshakeVersion {
		return n, fmt.Errorf("%w: version %d, here %d (use one version of the library on all PEs)", errHandshake, b[4], handshakeVersion)
	}
	copy(n[:], b[8:])
	return n, nil
}

// greet is the first half of the PE's side of a handshake: it ends when the root has proved that it
// knows the secret, and returns the PE's proof for sendClaim.
func greet(conn net.Conn, s *secret.Secret) (proof secret.Proof, err error) {
	mine := secret.NewNonce()
	if _, err := conn.Write(opening(mine)); err != nil {
		return proof, err
	}
	var b [openingLen + len(proof)]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return proof, err
	}
	theirs, err := parseOpening(b[:openingLen])
	if err != nil {
		return proof, err
	}
	if !s.Check(b[openingLen:], "root", mine, theirs) {
		return proof, ErrSecret
	}
	return s.Prove("pe", theirs, mine), nil
}

// sendClaim is the second half of the PE's side of a handshake: it sends the PE's proof and claim,
// and returns the number of frames that the root has received from this PE.
func sendClaim(conn net.Conn, proof secret.Proof, me claim) (received uint64, err error) {
	b := append([]byte(nil), proof[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(me.pe))
	b = binary.LittleEndian.AppendUint32(b, uint32(me.size))
	b = binary.LittleEndian.AppendUint64(b, me.session)
	b = binary.LittleEndian.AppendUint64(b, me.received)
	var fresh byte
	if me.fresh {
		fresh = 1
	}
	b = append(b, fresh, 0, 0, 0, 0, 0, 0, 0)
	if _, err := conn.Write(b); err != nil {
		return 0, err
	}
	var v [verdictLen]byte
	if _, err := io.ReadFull(conn, v[:]); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(v[4:])
	switch {
	case v[0] > refusedNow || n > maxRefusal:
		return 0, errHandshake
	case v[0] != admitted:
		text := make([]byte, n)
		if _, err := io.ReadFull(conn, text); err != nil {
			return 0, err
		}
		return 0, &Refusal{v[0] == refusedNow, string(text)}
	}
	return binary.LittleEndian.Uint64(v[8:]), nil
}

// receive does the root's side of a handshake, up to the PE's claim, which it returns. Both sides
// prove that they know the secret s, by a MAC over both nonces.
func receive(conn net.Conn, s *secret.Secret) (who claim, err error) {
	var b [openingLen]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return who, err
	}
	theirs, err := parseOpening(b[:])
	if err != nil {
		return who, err
	}
	mine := secret.NewNonce()
	proof := s.Prove("root", theirs, mine)
	if _, err := conn.Write(append(opening(mine), proof[:]...)); err != nil {
		return who, err
	}
	var p [len(proof) + claimLen]byte
	if _, err := io.ReadFull(conn, p[:]); err != nil {
		return who, err
	}
	if !s.Check(p[:len(proof)], "pe", mine, theirs) {
		return who, errHandshake
	}
	at := p[len(proof):]
	return claim{
		pe: libshmem.PE(binary.LittleEndian.Uint32(at)), size: int(int32(binary.LittleEndian.Uint32(at[4:]))),
		session: binary.LittleEndian.Uint64(at[8:]), received: binary.LittleEndian.Uint64(at[16:]), fresh: at[24] == 1,
	}, nil
}

// reply ends the root's side of a handshake: it admits the PE, or sends why not. received is how
// many frames of the PE the root has received.
func reply(conn net.Conn, received uint64, why error) error {
	var v [verdictLen]byte
	binary.LittleEndian.PutUint64(v[8:], received)
	text := ""
	if why != nil {
		v[0] = refused
		var refusal *Refusal
		if errors.As(why, &refusal) && refusal.Later {
			v[0] = refusedNow
		}
		text = why.Error()
		text = text[:min(len(text), maxRefusal)]
		binary.LittleEndian.PutUint32(v[4:], uint32(len(text)))
	}
	_, err := conn.Write(append(v[:], text...))
	return err
}
