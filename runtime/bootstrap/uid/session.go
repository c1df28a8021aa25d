package uid

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
)

// lookup is how long the look-up of a host's addresses may take.
const lookup = 10 * time.Second

// Place is the place at which the PEs of a session meet.
type Place struct {
	Address string // HOST:PORT of PE 0
	Secret  string // that all PEs know; "": none, and every process that reaches the port can join
}

// NameError reports that the name of a host has no address now. It may have one later.
type NameError struct{ err error }

// Error returns the text of the resolver's error.
func (e *NameError) Error() string { return e.err.Error() }

// Session returns the id of the job that meets at a place. Each process can make it; none listens
// until PE 0 joins. In a process that knows that it is PE 0 (isPE0), the id has 127.0.0.1 in place
// of the host's addresses, because the host's name may resolve only later. An error is a *NameError
// if a later call may succeed.
func Session(ctx context.Context, p Place, isPE0 bool) (ID, error) {
	wrong := func(why string) (ID, error) {
		return ID{}, fmt.Errorf("make unique id: session %q: %s (set SHMEM_BOOTSTRAP_SESSION to HOST:PORT, a name or an "+
			"address of the host of PE 0 and a free port there, such as 10.0.0.1:7000 or [fd00::1]:7000)", p.Address, why)
	}
	name, digits, err := net.SplitHostPort(p.Address)
	if err != nil || name == "" {
		return wrong("it has no host and port")
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return wrong(fmt.Sprintf("port %q is not a number from 1 to 65535", digits))
	}
	addresses := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	if !isPE0 {
		ctx, cancel := context.WithTimeout(ctx, lookup)
		defer cancel()
		if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", name); err != nil {
			return ID{}, &NameError{err}
		}
	}
	for i, a := range addresses {
		addresses[i] = a.Unmap().WithZone("")
	}
	return encode(ofSession, p.key(), uint16(port), addresses), nil
}

// key returns the secret whose knowledge the PEs prove to each other, made of the user's secret and
// the address: two jobs may share a secret, and one may get the IP address that the other has just
// had.
func (p Place) key() (key secret.Secret) {
	text := []byte("session " + p.Address)
	if p.Secret == "" {
		return sha256.Sum256(text)
	}
	h := hmac.New(sha256.New, []byte(p.Secret))
	h.Write(text)
	h.Sum(key[:0])
	return key
}

// ListenError reports that PE 0 cannot listen at the port of a session.
type ListenError struct {
	port uint16
	err  error
}

// Error names the port.
func (e *ListenError) Error() string {
	return fmt.Sprintf("begin the session at port %d: %v (set SHMEM_BOOTSTRAP_SESSION to a port that is free on this host)", e.port, e.err)
}

// rootOf returns the root of an id in this process, or nil if there is none. For a session PE 0
// starts the root, a new one for each job, and the other PEs get nil and connect to its port: a
// root in their own process would be the root of the job before.
func rootOf(id ID, c *contents, pe libshmem.PE) (*Root, error) {
	if c.session && pe != 0 {
		return nil, nil
	}
	rootsMu.Lock()
	r := roots[id]
	rootsMu.Unlock()
	if r != nil || !c.session {
		return r, nil
	}
	// Listen on all addresses: the host's own name may resolve to 127.0.1.1, and the other PEs may
	// use an address that only a router in front of the host knows.
	port := c.addresses[0].Port()
	l, err := listen(AnyFamily, port)
	if err != nil {
		return nil, &ListenError{port, cause(err)}
	}
	return newRoot(l, c.secret, id), nil
}
