package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/file"
	"libshmem/runtime/bootstrap/singleton"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/guard"
)

// Options describe this PE and its job.
type Options struct {
	Env      map[string]string // of the process
	Folder   string            // a folder that all hosts share, to use instead of munge; "": use munge
	Filter   uid.Filter
	Timeout  time.Duration // how long to wait for the other PEs, above 0
	Survives bool          // the PE continues when others fail (SHMEM_ON_FAILURE=return)
}

const (
	// The pauses between attempts to find PE 0's listener grow from the first to the second.
	firstPause, lastPause = 20 * time.Millisecond, 500 * time.Millisecond
	// maxDials is how many addresses are tried at the same time.
	maxDials = 64
)

// remedy is the advice in messages of Join: start the program in another way, or set a folder by
// which its PEs find each other.
const remedy = "start the program with srun --mpi=pmi2, which needs neither munge nor a shared folder, or --mpi=pmix; or name a folder that the hosts share by SHMEM_BOOTSTRAP_DIR"

// Join brings this task together with the other tasks of its Slurm step: by a file if there is a
// shared folder, else by a listener of PE 0, where munge verifies the users.
func Join(o Options) (bootstrap.Bootstrap, error) {
	s, err := read(o.Env)
	if err != nil {
		return nil, fmt.Errorf("join job by Slurm: %w", err)
	}
	if s.size == 1 {
		return singleton.New(), nil
	}
	if o.Folder != "" {
		m, err := file.Join(file.Options{
			Path: filepath.Join(o.Folder, s.file()), Setting: "SHMEM_BOOTSTRAP_DIR", Name: "slurm", PE: s.pe, Size: s.size,
			Filter: o.Filter, Timeout: o.Timeout, Survives: o.Survives,
		})
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := meet(&o, &s, daemon{})
	if err != nil {
		return nil, fmt.Errorf("join job by Slurm: %w", err)
	}
	return m, nil
}

// file returns the name of the step's file in the shared folder: the step's name, with "-" for each
// character that a file name should not have.
func (s *step) file() string {
	return "shmem-" + strings.Map(func(c rune) rune {
		if c < 0x80 && (literal(byte(c))) {
			return c
		}
		return '-'
	}, s.name)
}

// meet brings the tasks together without a shared folder; v verifies the users of processes.
func meet(o *Options, s *step, v verifier) (*uid.Member, error) {
	user, err := v.Self()
	if err != nil {
		return nil, fmt.Errorf("prove the user of this process: %w (%s)", err, remedy)
	}
	p := &peer{verifier: v, user: user, name: s.name}
	if s.pe == 0 {
		return lead(o, s, p)
	}
	return follow(o, s, p)
}

// join joins the job of a unique id, and waits until all PEs have.
func (o *Options) join(s *step, id uid.ID) (*uid.Member, error) {
	m, err := uid.Join(uid.Options{ID: id, PE: s.pe, Size: s.size, Timeout: o.Timeout, Survives: o.Survives, Name: "slurm"})
	if err != nil {
		return nil, err
	}
	if err := m.Barrier(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// lead does the work of Join on PE 0. Its listener is open until all PEs have joined. So a PE that
// searches for the listener of the step's next job cannot find this one: it searches only after
// PE 0 has called finalize.
func lead(o *Options, s *step, p *peer) (*uid.Member, error) {
	l, err := listen(s.ports, o.Filter.Family)
	if err != nil {
		return nil, err
	}
	root, id, err := uid.NewRoot(o.Filter)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	d := newListener(l, p, id)
	m, err := o.join(s, id)
	d.close()
	if err != nil {
		root.Close()
		return nil, err
	}
	return m, nil
}

// follow does the work of Join on the other PEs: it finds PE 0's listener and joins by the id from
// there.
func follow(o *Options, s *step, p *peer) (*uid.Member, error) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	finder := &finder{options: o, step: s, peer: p}
	var last error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		id, err := finder.find(ctx)
		if err == nil {
			return o.join(s, id)
		}
		if finder.hopeless {
			return nil, err
		}
		// The error of an attempt that the timeout has cut off says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(pause):
			continue
		case <-ctx.Done():
		}
		return nil, fmt.Errorf("%w; looked for on %s, ports %s: %w",
			&bootstrap.MissingError{Step: "find PE 0", Missing: []libshmem.PE{0}, Waited: o.Timeout},
			cmp.Or(strings.Join(s.hosts, " "), "this host"), list(s.ports), last)
	}
}

// finder finds the listener of PE 0.
type finder struct {
	options   *Options
	step      *step
	peer      *peer
	addresses []netip.Addr
	hopeless  bool // further attempts would fail, too: the name of a host does not exist
}

// resolve finds the addresses of the hosts where PE 0 may run; with an empty list that is this
// host.
func (l *finder) resolve(ctx context.Context) error {
	network := map[uid.Family]string{uid.AnyFamily: "ip", uid.IPv4: "ip4", uid.IPv6: "ip6"}[l.options.Filter.Family]
	var found []netip.Addr
	if len(l.step.hosts) == 0 {
		for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
			if f := l.options.Filter.Family; f == uid.AnyFamily || (f == uid.IPv4) == a.Is4() {
				found = append(found, a)
			}
		}
	}
	for _, host := range l.step.hosts {
		some, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
		if err != nil {
			var dns *net.DNSError
			l.hopeless = errors.As(err, &dns) && dns.IsNotFound
			return fmt.Errorf("find the address of %s, the host of PE 0 according to SLURM_STEP_NODELIST: %w (Slurm's node names must be host names; otherwise %s)",
				host, err, remedy)
		}
		found = append(found, some...)
	}
	l.addresses = found
	return nil
}

// find connects to all ports of all addresses, at most maxDials at a time, and returns the first
// unique id that a listener sends. If none does, it returns an error: that of an address at which a
// process accepted the connection, if there is one, because it says more.
func (l *finder) find(ctx context.Context) (uid.ID, error) {
	if l.addresses == nil {
		if err := l.resolve(ctx); err != nil {
			return uid.ID{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		id      uid.ID
		at      netip.AddrPort
		err     error
		reached bool // a process has accepted the connection
	}
	n := len(l.addresses) * len(l.step.ports)
	results := make(chan result, n) // room for all: nothing receives after the first id
	dials := make(chan struct{}, maxDials)
	for _, port := range l.step.ports {
		for _, a := range l.addresses {
			guard.Go("the bootstrap", func() {
				dials <- struct{}{}
				defer func() { <-dials }()
				r := result{at: netip.AddrPortFrom(a.Unmap(), uint16(port))}
				var conn net.Conn
				if conn, r.err = new(net.Dialer).DialContext(ctx, "tcp", r.at.String()); r.err == nil {
					defer conn.Close()
					stop := context.AfterFunc(ctx, guard.Func("the bootstrap", func() { conn.Close() }))
					defer stop()
					r.id, r.err = l.peer.requestID(conn)
					r.reached = true
				}
				results <- r
			})
		}
	}
	var err error
	reached := false
	for range n {
		r := <-results
		if r.err == nil {
			return r.id, nil
		}
		if err == nil || r.reached && !reached {
			err, reached = fmt.Errorf("%v: %w", r.at, cause(r.err)), r.reached
		}
	}
	return uid.ID{}, err
}

// cause returns a network error without the address, which the caller names.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}
