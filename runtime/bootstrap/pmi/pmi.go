package pmi

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
)

// process is the state that the bootstraps of this process share.
var process struct {
	mu      sync.Mutex
	session *session
	busy    bool // a bootstrap uses the session
}

// Client is the bootstrap of a PE by PMI-1.
type Client struct {
	s       *session
	timeout time.Duration
	secret  secret.Secret
	release func()

	mu     sync.Mutex
	closed bool
}

var (
	_ bootstrap.Bootstrap = (*Client)(nil)
	_ bootstrap.Launched  = (*Client)(nil)
)

// New joins the job that env, the environment of the process, describes, and waits until all PEs
// have joined; with a timeout of 0, for ever. Only one Client of a process is open at a time; after
// Close there may be another.
func New(env map[string]string, timeout time.Duration) (*Client, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.busy {
		return nil, errors.New("join job by PMI: this process is in it already, or has failed to join (start it again)")
	}
	process.busy = true // even if this fails: the state of the connection is then unknown
	if process.session == nil {
		s, err := join(env, timeout)
		if err != nil {
			return nil, fmt.Errorf("join job by PMI: %w", err)
		}
		process.session = s
	}
	return open(process.session, timeout, func() {
		process.mu.Lock()
		process.busy = false
		process.mu.Unlock()
	})
}

// Depart is called at the end of the process. It reports to the launcher that the process ends in
// good order, if it does: if no Client is open. If PEs are missing, it tells the launcher to end
// the job, because some launchers leave the others running. Nothing of this package may be called
// after it.
func Depart() {
	if !process.mu.TryLock() {
		return // another thread is about to join, so the end is not in good order
	}
	defer process.mu.Unlock()
	s := process.session
	var missing *bootstrap.MissingError
	switch {
	case s == nil:
	case errors.As(s.steps.Err, &missing):
		s.abort(1)
	case s.steps.Err == nil && !process.busy:
		process.session, process.busy = nil, true
		s.leave()
	}
}

// open makes a Client that uses the session, and gets the secret of the job, which PE 0 draws, by a
// first Allgather. release is called when the Client is closed.
func open(s *session, timeout time.Duration, release func()) (*Client, error) {
	c := &Client{s: s, timeout: timeout, release: release}
	var mine []byte
	if s.rank == 0 {
		c.secret = secret.New()
		mine = c.secret[:]
	}
	all, err := c.Allgather(mine)
	if err != nil {
		return nil, fmt.Errorf("join job by PMI: %w", err)
	}
	if copy(c.secret[:], all[0]) != len(c.secret) || len(all[0]) != len(c.secret) {
		return nil, fmt.Errorf("join job by PMI: %w: PE 0 has put %d bytes, not %d (all PEs need the same libshmem)", errFormat, len(all[0]), len(c.secret))
	}
	return c, nil
}

// Name returns "pmi".
func (c *Client) Name() string { return "pmi" }

// Rank returns this PE's number.
func (c *Client) Rank() libshmem.PE { return c.s.rank }

// Size returns the number of PEs.
func (c *Client) Size() int { return c.s.size }

// Allgather implements bootstrap.Bootstrap: every PE gets the bytes of every PE.
func (c *Client) Allgather(mine []byte) (all [][]byte, err error) {
	err = c.s.steps.Run("allgather", func() error {
		all, err = c.s.allgather(mine, c.timeout)
		return err
	})
	return all, err
}

// Barrier implements bootstrap.Bootstrap: it waits until all PEs have called it.
func (c *Client) Barrier() error {
	return c.s.steps.Run("barrier", func() error { return c.s.barrier(c.timeout) })
}

// LeaveBarrier implements bootstrap.Bootstrap. PMI-1 has no barrier of only some PEs, so
// LeaveBarrier waits until the timeout for a PE that has failed.
func (c *Client) LeaveBarrier() error { return c.Barrier() }

// Secret implements bootstrap.Bootstrap: only PEs of the job know it.
func (c *Client) Secret() *secret.Secret { return &c.secret }

// Abort implements bootstrap.Bootstrap. PMI-1 cannot carry the reason.
func (c *Client) Abort(status int, _ string) { c.Exit(status) }

// Exit implements bootstrap.Bootstrap: it requests the end of the job with a status.
func (c *Client) Exit(status int) { c.s.abort(status) }

// Over implements bootstrap.Bootstrap: a launcher that ends a job hangs up.
func (c *Client) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.s.conn.hungUp()
}

// Losses implements bootstrap.Bootstrap: launchers of PMI-1 do not report any.
func (c *Client) Losses() []bootstrap.Loss { return nil }

// NewsFD implements bootstrap.Bootstrap: it is readable when the launcher has hung up.
func (c *Client) NewsFD() int { return c.s.conn.fd }

// Launcher implements bootstrap.Launched: the text names the launcher in messages.
func (c *Client) Launcher() string { return "the PMI server of mpiexec.hydra or srun" }

// Close implements bootstrap.Bootstrap. The session stays open for another Client; Depart ends it.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.release()
	}
	return nil
}
