package slurm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"libshmem/runtime/bootstrap/munge"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/uid"
)

// The exchange at PE 0's listener: each side sends a random number; then the PE that connects sends
// a credential for both numbers, and PE 0 another one, with the unique id in it. A credential that
// was overheard is of no use: its numbers are used only once, and no other user can read it.
const (
	magic   = "SHMS"
	version = 1

	openingLen = 24      // magic 4, version 1, zeros 3, nonce 16
	headLen    = 8       // kind 1, zeros 3, length of the text 4 (little endian)
	maxText    = 8 << 10 // of a credential or a refusal

	isCredential, isRefusal = 0, 1 // the kinds
)

var errTalk = errors.New("it does not use the protocol of a PE of the step")

// verifier makes and reads credentials that prove a process's user: munge, except in tests.
type verifier interface {
	Self() (munge.User, error)
	Encode(bytes []byte, reader munge.User) (string, error)
	Decode(cred string) ([]byte, munge.User, error)
}

// daemon is the verifier that calls the munge daemon of this host.
type daemon struct{}

// daemonCalls limits concurrent calls of the munge daemon, because each of them blocks a thread.
var daemonCalls = make(chan struct{}, 8)

// Self returns the user of this process.
func (daemon) Self() (munge.User, error) { return munge.Self() }

// Encode makes a credential; few calls of the daemon run at a time.
func (daemon) Encode(bytes []byte, reader munge.User) (string, error) {
	daemonCalls <- struct{}{}
	defer func() { <-daemonCalls }()
	return munge.Encode(bytes, reader)
}

// Decode checks a credential; few calls of the daemon run at a time.
func (daemon) Decode(cred string) ([]byte, munge.User, error) {
	daemonCalls <- struct{}{}
	defer func() { <-daemonCalls }()
	return munge.Decode(cred)
}

// peer is one side of the exchange.
type peer struct {
	verifier verifier
	user     munge.User // the user of this process, which the other side must have, too
	name     string     // name of the step
}

// nonces are the random numbers of both sides of one exchange: of the PE that connects, whose role
// in its credential is "knock", and of PE 0, whose role is "open".
type nonces struct{ knocker, opener secret.Nonce }

// statement returns the bytes that a credential signs: the role, the step and both random numbers.
func (p *peer) statement(role string, n nonces) []byte {
	b := append([]byte(role), 0)
	b = append(append(b, p.name...), 0)
	return append(append(b, n.knocker[:]...), n.opener[:]...)
}

// makeCredential returns a credential that proves this process's role in the exchange and carries
// the bytes.
func (p *peer) makeCredential(role string, n nonces, bytes []byte) (string, error) {
	return p.verifier.Encode(append(p.statement(role, n), bytes...), p.user)
}

// checkCredential checks the munge credential of the other side, and returns the bytes that it
// carries. It must be of the same user, step and role, and repeat the nonces of this conversation,
// so that it cannot be a copy from another one.
func (p *peer) checkCredential(cred, role string, n nonces) ([]byte, error) {
	b, user, err := p.verifier.Decode(cred)
	if err != nil {
		return nil, err
	}
	if user != p.user {
		return nil, fmt.Errorf("it is a process of user %d, not %d", user, p.user)
	}
	want := p.statement(role, n)
	if len(b) < len(want) || string(b[:len(want)]) != string(want) {
		return nil, fmt.Errorf("it belongs to another step than %s, or to another conversation", p.name)
	}
	return b[len(want):], nil
}

// requestID requests the unique id from the listener at the other side of a connection. Both sides
// exchange nonces, and then credentials: this PE's first, so that the listener sends the id to no
// stranger.
func (p *peer) requestID(conn io.ReadWriter) (id uid.ID, err error) {
	n := nonces{knocker: secret.NewNonce()}
	if _, err := conn.Write(opening(n.knocker)); err != nil {
		return id, err
	}
	if n.opener, err = readOpening(conn); err != nil {
		return id, err
	}
	cred, err := p.makeCredential("knock", n, nil)
	if err != nil {
		return id, err
	}
	if err := send(conn, isCredential, cred); err != nil {
		return id, err
	}
	kind, text, err := receive(conn)
	switch {
	case err != nil:
		return id, err
	case kind == isRefusal:
		return id, fmt.Errorf("it says %q", text)
	}
	b, err := p.checkCredential(text, "open", n)
	if err == nil && len(b) != uid.Len {
		err = errTalk
	}
	copy(id[:], b)
	return id, err
}

// open is the listener's side of requestID: it sends the id if the process is a PE of the step, or
// else the reason why not.
func (p *peer) open(conn io.ReadWriter, id *uid.ID) error {
	n := nonces{opener: secret.NewNonce()}
	var err error
	if n.knocker, err = readOpening(conn); err != nil {
		return err
	}
	if _, err := conn.Write(opening(n.opener)); err != nil {
		return err
	}
	kind, cred, err := receive(conn)
	if err != nil {
		return err
	}
	if kind != isCredential {
		return errTalk
	}
	if _, err := p.checkCredential(cred, "knock", n); err != nil {
		return errors.Join(err, send(conn, isRefusal, err.Error()))
	}
	if cred, err = p.makeCredential("open", n, id[:]); err != nil {
		return errors.Join(err, send(conn, isRefusal, err.Error()))
	}
	return send(conn, isCredential, cred)
}

// opening returns the first message of each side: the version and a random number.
func opening(n secret.Nonce) []byte {
	return append(append([]byte(magic), version, 0, 0, 0), n[:]...)
}

// readOpening reads the other side's first message, and returns the nonce in it.
func readOpening(r io.Reader) (n secret.Nonce, err error) {
	var b [openingLen]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return n, err
	}
	if string(b[:4]) != magic {
		return n, errTalk
	}
	if b[4] != version {
		return n, fmt.Errorf("%w: version %d, here %d (use one version of the library on all PEs)", errTalk, b[4], version)
	}
	copy(n[:], b[8:])
	return n, nil
}

// send sends a kind and a text.
func send(w io.Writer, kind byte, text string) error {
	text = text[:min(len(text), maxText)]
	b := binary.LittleEndian.AppendUint32([]byte{kind, 0, 0, 0}, uint32(len(text)))
	_, err := w.Write(append(b, text...))
	return err
}

// receive reads a kind and a text that send has sent at the other side. A text longer than maxText
// is an error.
func receive(r io.Reader) (kind byte, text string, err error) {
	var head [headLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, "", err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if head[0] > isRefusal || n > maxText {
		return 0, "", errTalk
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return head[0], string(b), err
}
