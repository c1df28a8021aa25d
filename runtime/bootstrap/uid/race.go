package uid

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/guard"
)

const (
	// stagger is how long race waits for an address before it also tries the next one.
	stagger = 50 * time.Millisecond
	// The pauses between rounds over all addresses grow from the first to the second.
	firstPause, lastPause = 10 * time.Millisecond, 500 * time.Millisecond
)

// keepAlive makes TCP notice within some ten seconds that the other host has disappeared.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 5}

// proven is a connection to the root, which has proved that it knows the secret.
type proven struct {
	conn  net.Conn
	proof secret.Proof // the PE's proof, which sendClaim sends
}

type dialer func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

// dialTCP connects to an address of the root.
func dialTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	if to.Addr().Is6() && to.Addr().IsLinkLocalUnicast() && to.Addr().Zone() == "" {
		return dialLinkLocal(ctx, &d, to)
	}
	return d.DialContext(ctx, "tcp", to.String())
}

// dialLinkLocal dials a link-local address, which needs an interface of this host. The id
// cannot name that, so dialLinkLocal tries each interface.
func dialLinkLocal(ctx context.Context, d *net.Dialer, to netip.AddrPort) (net.Conn, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("no interface of this host is up")
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		one, cancel := context.WithTimeout(ctx, time.Second)
		var conn net.Conn
		conn, err = d.DialContext(one, "tcp", netip.AddrPortFrom(to.Addr().WithZone(i.Name), to.Port()).String())
		cancel()
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// failures are the errors of all addresses.
type failures struct {
	texts []string
	errs  []error
}

// Error joins the texts of all addresses.
func (f *failures) Error() string { return strings.Join(f.texts, "; ") }

// Unwrap returns the errors of all addresses.
func (f *failures) Unwrap() []error { return f.errs }

// race connects to the addresses, to each after stagger or when all earlier ones have failed, and
// returns the first connection over which the root has proved that it knows the secret. It closes
// the others.
func race(ctx context.Context, addresses []netip.AddrPort, s *secret.Secret, dial dialer) (proven, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		proven
		at  int
		err error
	}
	results := make(chan result)
	try := func(i int) {
		r := result{at: i}
		r.conn, r.err = dial(ctx, addresses[i])
		if r.err == nil {
			stop := context.AfterFunc(ctx, guard.Func("the bootstrap", func() { r.conn.Close() }))
			_ = r.conn.SetDeadline(time.Now().Add(handshakeLimit))
			r.proof, r.err = greet(r.conn, s)
			if !stop() && r.err == nil {
				r.err = ctx.Err()
			}
		}
		select {
		case results <- r:
		case <-ctx.Done():
			if r.conn != nil {
				r.conn.Close()
			}
		}
	}
	failed := &failures{texts: make([]string, len(addresses))}
	for begun := 0; len(failed.errs) < len(addresses); {
		var next <-chan time.Time
		if begun < len(addresses) {
			wait := stagger
			if begun == len(failed.errs) { // no attempt is under way
				wait = 0
			}
			t := time.NewTimer(wait)
			defer t.Stop()
			next = t.C
		}
		select {
		case <-next:
			at := begun
			guard.Go("the bootstrap", func() { try(at) })
			begun++
		case r := <-results:
			if r.err == nil {
				return r.proven, nil
			}
			if r.conn != nil {
				r.conn.Close()
			}
			failed.texts[r.at] = fmt.Sprintf("%v: %v", addresses[r.at], cause(r.err))
			failed.errs = append(failed.errs, r.err)
		case <-ctx.Done():
			for i, text := range failed.texts {
				if text == "" {
					failed.texts[i] = fmt.Sprintf("%v: no answer", addresses[i])
				}
			}
			return proven{}, failed
		}
	}
	return proven{}, failed
}

// Reachable reports whether the root of an id replies to a handshake within the limit.
func Reachable(id ID, limit time.Duration) bool {
	c, err := decode(&id)
	if err != nil {
		return false
	}
	rootsMu.Lock()
	inProcess := roots[id] != nil
	rootsMu.Unlock()
	if inProcess {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p, err := race(ctx, c.addresses, &c.secret, dialTCP)
	if err != nil {
		return false
	}
	p.conn.Close()
	return true
}

// cause returns a network error without the address, which the caller names.
func cause(err error) error {
	if op, ok := err.(*net.OpError); ok && op.Err != nil { //nolint:errorlint // only the outermost repeats the address
		return op.Err
	}
	return err
}
