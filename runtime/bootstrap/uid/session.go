package uid

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"strconv"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
)

// lookup is how long the look-up of a host's addresses may take.
const lookup = 10 * time.Second

// Session returns the id of a job whose root is at a given address, HOST:PORT, of PE 0's host. Each
// process makes the same id; the root starts when PE 0 joins. The secret follows from the address,
// so every process that reaches the port can join.
func Session(address string) (ID, error) {
	wrong := func(why string) (ID, error) {
		return ID{}, fmt.Errorf("make unique id: session %q: %s (set SHMEM_BOOTSTRAP_SESSION to HOST:PORT, an address of "+
			"the host of PE 0 and a free port there, such as 10.0.0.1:7000 or [fd00::1]:7000)", address, why)
	}
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return wrong("it has no host and port")
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return wrong(fmt.Sprintf("port %q is no number from 1 to 65535", digits))
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookup)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return wrong(err.Error())
	}
	for i, a := range addresses {
		addresses[i] = a.Unmap().WithZone("")
	}
	return encode(ofSession, secret.Secret(sha256.Sum256([]byte("session "+address))), uint16(port), addresses), nil
}

// rootOf returns the root of an id in this process, or nil if there is none. For a session PE 0
// starts the root, a new one for each job, and the other PEs get nil and connect to its port: a
// root in their own process would be that of the job before.
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
		return nil, fmt.Errorf("begin the session at port %d: %w (set SHMEM_BOOTSTRAP_SESSION to a port that is free on this host)", port, cause(err))
	}
	return newRoot(l, c.secret, id), nil
}
