package fdpass

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/shmerr"
)

// A guarded listener accepts only processes that know the job's secret, which other processes of
// the same user do not. Each process that connects proves that it knows the secret, and the
// listener then proves the same. The secret itself is never sent, and no proof is valid twice:
//
//	listener -> peer   magic 8, nonce 16
//	peer -> listener   nonce 16, its PE 8, proof 32: for the role rolePeer, over both nonces
//	listener -> peer   proof 32: for the role roleListener, over both nonces
//
// The numbers are bytes. A process that connects and sends nothing delays no PE: the listener
// serves all connections at the same time, until its own deadline. A shorter limit for each
// connection would reject a PE that gets no processor for a while.
const (
	guardMagic = 0x32647261_75676d68 // changes with the messages
	nonceBytes = len(secret.Nonce{})
	proofBytes = len(secret.Proof{})

	// maxUnproven caps the connections without a proof that are served beside the expected ones.
	maxUnproven = 64
	// maxReported caps the rejected processes that the listener reports. It remembers them, to
	// report each only once.
	maxReported = 64

	roleListener = "heap listener"
)

// rolePeer returns the role for which a dialling PE makes its proof. A proof for one role or PE is
// not valid for another.
func rolePeer(pe uint64) string { return fmt.Sprintf("heap peer, PE %d", pe) }

// guard is the state of a guarded listener: the job's secret, and the connections whose processes
// have not proven yet which PE they are.
type guard struct {
	secret   *secret.Secret
	report   func(text string)
	seen     map[string]bool // processes already reported
	unproven []unproven
	limit    int // the most unproven connections that are kept
}

// unproven is a connection whose process has not proven yet which PE it is.
type unproven struct {
	fd    int
	nonce secret.Nonce
}

// Guard makes the listener accept only processes that know the secret. It calls report once for
// each process that it rejects.
func (l *Listener) Guard(s *secret.Secret, report func(text string)) {
	l.guard = &guard{secret: s, report: report, seen: map[string]bool{}, limit: l.peers + maxUnproven}
}

// close closes the connections that have proven nothing.
func (g *guard) close() {
	for _, x := range g.unproven {
		_ = unix.Close(x.fd)
	}
	g.unproven = nil
}

// caller describes the process at the other side of a connection, for errors.
func caller(fd int) string {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return "a process that is gone"
	}
	return fmt.Sprintf("process %d of user %d", c.Pid, c.Uid)
}

// silent returns the error of accept after its deadline. It names the processes that have connected
// and have not proven which PE they are.
func (g *guard) silent() error {
	if len(g.unproven) == 0 {
		return shmerr.ErrTimeout
	}
	var all []string
	for _, x := range g.unproven[:min(len(g.unproven), maxReported)] {
		all = append(all, caller(x.fd))
	}
	return shmerr.Causef(shmerr.ErrTimeout, "%s came and said nothing", strings.Join(all, ", "))
}

// reject closes the connection of a process for the reason err, reports the process if it has not
// been reported before, and returns the error for the caller of Accept.
func (g *guard) reject(fd int, err error) error {
	who := caller(fd)
	_ = unix.Close(fd)
	err = fmt.Errorf("%s: %w", who, err)
	if !g.seen[who] && len(g.seen) < maxReported {
		g.seen[who] = true
		more := ""
		if len(g.seen) == maxReported {
			more = "; further ones are not named"
		}
		g.report(fmt.Sprintf("turned away %v%s", err, more))
	}
	return Rejected{err}
}

// accept waits until a process has proven which PE it is, or until one is rejected. It accepts new
// connections meanwhile, so that a process that proves nothing delays no other.
func (l *Listener) accept(deadline time.Time) (*Conn, error) {
	g := l.guard
	for {
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		for _, x := range g.unproven {
			fds = append(fds, unix.PollFd{Fd: int32(x.fd), Events: unix.POLLIN})
		}
		err := waitAny(fds, deadline)
		if errors.Is(err, shmerr.ErrTimeout) {
			return nil, g.silent()
		}
		if err != nil {
			return nil, err
		}
		for i, x := range g.unproven {
			if fds[i+1].Revents != 0 {
				g.unproven = append(g.unproven[:i], g.unproven[i+1:]...)
				return g.checkProof(&x, deadline)
			}
		}
		if err := l.welcome(); err != nil {
			return nil, err
		}
	}
}

// welcome accepts one connection and sends it the nonce over which it must make its proof. It
// rejects a process of another user, and one to which the nonce cannot be sent at once. If too many
// connections have proven nothing yet, it rejects the oldest of them.
func (l *Listener) welcome() error {
	g := l.guard
	fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EINTR) {
		return nil // the process has gone
	}
	if err != nil {
		return shmerr.Causef(shmerr.ErrSystem, "accept: %w", err)
	}
	if err := checkUser(fd, l.uid); err != nil {
		return g.reject(fd, err)
	}
	x := unproven{fd: fd, nonce: secret.NewNonce()}
	challenge := append(binary.LittleEndian.AppendUint64(nil, guardMagic), x.nonce[:]...)
	// The deadline is now, so that a process that reads nothing delays no other.
	if err := (&Conn{fd: fd}).Send(challenge, nil, time.Now()); err != nil {
		return g.reject(fd, err)
	}
	g.unproven = append(g.unproven, x)
	if len(g.unproven) > g.limit {
		oldest := g.unproven[0]
		g.unproven = g.unproven[1:]
		return g.reject(oldest.fd, shmerr.Causef(shmerr.ErrTimeout, "it was silent while %d others connected", g.limit))
	}
	return nil
}

// checkProof receives the proof of a connection and checks it. If the proof is right, it sends the
// listener's own proof and returns the connection; otherwise it rejects the process.
func (g *guard) checkProof(x *unproven, deadline time.Time) (*Conn, error) {
	c := &Conn{fd: x.fd}
	reply, files, err := c.Receive(time.Now()) // does not wait: accept has seen that something came
	CloseAll(files)
	if err == nil && (len(reply) != nonceBytes+8+proofBytes || len(files) > 0) {
		err = shmerr.Causef(shmerr.ErrVersion, "it sent %d bytes and %d descriptors in place of a proof", len(reply), len(files))
	}
	if err != nil {
		return nil, g.reject(x.fd, err)
	}
	theirs, pe := secret.Nonce(reply[:nonceBytes]), binary.LittleEndian.Uint64(reply[nonceBytes:])
	if !g.secret.Check(reply[nonceBytes+8:], rolePeer(pe), x.nonce, theirs) {
		return nil, g.reject(x.fd, shmerr.Causef(shmerr.ErrPeerLost, "it does not know the job's secret"))
	}
	c.Peer = libshmem.PE(pe)
	proof := g.secret.Prove(roleListener, theirs, x.nonce)
	if err := c.Send(proof[:], nil, deadline); err != nil {
		return nil, g.reject(x.fd, err)
	}
	return c, nil
}

// Prove proves to a guarded listener that this process is the PE `pe` and knows the secret, and
// verifies the listener's proof. It has to be the first exchange on a dialled connection.
func (c *Conn) Prove(s *secret.Secret, pe libshmem.PE, deadline time.Time) error {
	challenge, files, err := c.Receive(deadline)
	CloseAll(files)
	if err == nil && (len(challenge) != 8+nonceBytes || binary.LittleEndian.Uint64(challenge) != guardMagic) {
		err = shmerr.Causef(shmerr.ErrVersion, "its request for a proof is not of this version")
	}
	if err != nil {
		return err
	}
	theirs, mine := secret.Nonce(challenge[8:]), secret.NewNonce()
	proof := s.Prove(rolePeer(uint64(pe)), theirs, mine)
	reply := append(binary.LittleEndian.AppendUint64(mine[:], uint64(pe)), proof[:]...)
	if err := c.Send(reply, nil, deadline); err != nil {
		return err
	}
	reply, files, err = c.Receive(deadline)
	CloseAll(files)
	if err == nil && !s.Check(reply, roleListener, mine, theirs) {
		err = shmerr.Causef(shmerr.ErrPeerLost, "the listener does not know the job's secret")
	}
	return err
}
