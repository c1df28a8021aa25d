package slurm

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/guard"
)

const (
	// limit is the longest time that the exchange over one connection may take.
	limit = 5 * time.Second
	// maxConns caps the connections that are served at the same time. A further one closes the
	// oldest, so that a connection that sends nothing delays no other.
	maxConns = 256
)

// listener is PE 0's listener, which sends the unique id to the PEs of the step.
type listener struct {
	listener net.Listener
	talks    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // the oldest first
	shut  bool
}

// listen listens at the first of the ports that is free. All PEs know the list, and try each port.
func listen(ports []int, family uid.Family) (net.Listener, error) {
	network := map[uid.Family]string{uid.AnyFamily: "tcp", uid.IPv4: "tcp4", uid.IPv6: "tcp6"}[family]
	var errs []error
	for _, port := range ports {
		l, err := net.Listen(network, fmt.Sprintf(":%d", port))
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("listen at a port of %s: %w (have Slurm reserve ports: MpiParams=ports in slurm.conf, and srun --resv-ports)",
		list(ports), errors.Join(errs...))
}

// list returns ports as text for an error.
func list(ports []int) string { return strings.Trim(fmt.Sprint(ports), "[]") }

// newListener starts a goroutine that accepts connections at l, and sends the unique id of the job
// to those that prove that they are PEs of the step.
func newListener(l net.Listener, p *peer, id uid.ID) *listener {
	d := &listener{listener: l}
	d.talks.Go(guard.Func("the bootstrap", func() {
		for {
			conn, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // no descriptors are left, for example
				time.Sleep(lastPause)
				continue
			}
			d.welcome(conn, p, id)
		}
	}))
	return d
}

// welcome serves a new connection in its own goroutine. If there are maxConns already, it closes
// the oldest.
func (d *listener) welcome(conn net.Conn, p *peer, id uid.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		conn.Close()
		return
	}
	if len(d.conns) == maxConns {
		d.conns[0].Close()
		d.conns = d.conns[1:]
	}
	d.conns = append(d.conns, conn)
	d.talks.Go(guard.Func("the bootstrap", func() {
		defer d.forget(conn)
		_ = conn.SetDeadline(time.Now().Add(limit))
		_ = p.open(conn, &id) // open has sent an error to the other side
	}))
}

// forget closes a connection that has been served.
func (d *listener) forget(conn net.Conn) {
	conn.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = slices.DeleteFunc(d.conns, func(c net.Conn) bool { return c == conn })
}

// close closes the listener and its connections, and waits until none is served any more.
func (d *listener) close() {
	d.mu.Lock()
	d.shut = true
	for _, conn := range d.conns {
		conn.Close()
	}
	d.mu.Unlock()
	d.listener.Close()
	d.talks.Wait()
}
