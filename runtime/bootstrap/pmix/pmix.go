package pmix

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
)

// The variables that show a PMIx server. libpmix reads these and others by itself.
const (
	EnvRank      = "PMIX_RANK"
	EnvNamespace = "PMIX_NAMESPACE"
)

const (
	// publishAfter is how long a PE waits in a barrier before it publishes that it waits. Usually a
	// barrier takes less.
	publishAfter = time.Second
	// lookupTime bounds the search for the PEs that wait, after the timeout of a barrier. A server
	// sends no reply about a PE that has published nothing.
	lookupTime = 2 * time.Second
)

// process is the state that the bootstraps of this process share.
var process struct {
	mu     sync.Mutex
	loaded bool
	joined bool // PMIx_Init has been called
	busy   bool // a bootstrap is open, or has failed
	rank   libshmem.PE
	size   int
	steps  bootstrap.Steps // numbers the collective steps, for unique keys; after a failed one all fail
}

// Client is the bootstrap of a PE by PMIx.
type Client struct {
	timeout time.Duration
	secret  secret.Secret

	mu     sync.Mutex
	closed bool
}

var (
	_ bootstrap.Bootstrap = (*Client)(nil)
	_ bootstrap.Launched  = (*Client)(nil)
)

// New joins the job of the server that the environment of the process names, and waits until all
// PEs have joined; with a timeout of 0, for ever. Only one Client of a process is open at a time;
// after Close there may be another.
func New(timeout time.Duration) (*Client, error) {
	c, err := open(timeout)
	if err != nil {
		return nil, fmt.Errorf("join job by PMIx: %w", err)
	}
	return c, nil
}

// open joins the job: it loads the library once, calls PMIx_Init once, and distributes the secret
// of PE 0. Only one Client of a process is open at a time. New completes the text of its errors.
func open(timeout time.Duration) (*Client, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.busy {
		return nil, errors.New("this process is in it already, or has failed to join (start it again)")
	}
	if !process.loaded {
		if err := load(); err != nil {
			return nil, err
		}
		process.loaded = true
	}
	if !process.joined {
		rank, size, err := initialise(timeout)
		if err != nil {
			process.busy = errors.Is(err, errSilent) // PMIx_Init has not returned yet
			return nil, err
		}
		process.joined, process.rank, process.size = true, rank, size
	}
	process.busy = true
	c := &Client{timeout: timeout}
	// The first Allgather distributes the secret of PE 0.
	var mine []byte
	if c.Rank() == 0 {
		c.secret = secret.New()
		mine = c.secret[:]
	}
	all, err := c.Allgather(mine)
	if err != nil {
		return nil, err
	}
	if len(all[0]) != len(c.secret) {
		return nil, fmt.Errorf("PE 0 has put %d bytes, not %d (all PEs need the same libshmem)", len(all[0]), len(c.secret))
	}
	copy(c.secret[:], all[0])
	return c, nil
}

// Depart is called at the end of the process. It reports to the launcher that the process ends in
// good order, unless a Client is open: then the process ends early. The launcher ends the job of a
// process that has ended without this report. No function of this package may be called after
// Depart.
func Depart() {
	if !process.mu.TryLock() {
		return // another thread is about to join, so the end is not in good order
	}
	defer process.mu.Unlock()
	if process.joined && process.steps.Err == nil && !process.busy {
		process.joined, process.busy = false, true
		finalise()
	}
}

// Name returns "pmix".
func (c *Client) Name() string { return "pmix" }

// Rank returns this PE's number.
func (c *Client) Rank() libshmem.PE { return process.rank }

// Size returns the number of PEs.
func (c *Client) Size() int { return process.size }

// Allgather implements bootstrap.Bootstrap: every PE gets the bytes of every PE.
func (c *Client) Allgather(mine []byte) (all [][]byte, err error) {
	err = process.steps.Run("allgather", func() error {
		all, err = c.allgather(mine)
		return err
	})
	return all, err
}

// Barrier implements bootstrap.Bootstrap: it waits until all PEs have called it.
func (c *Client) Barrier() error { return process.steps.Run("barrier", c.barrier) }

// LeaveBarrier implements bootstrap.Bootstrap. A fence includes all PEs, so LeaveBarrier waits
// until the timeout for a PE that has failed, unless the launcher ends the job before.
func (c *Client) LeaveBarrier() error { return c.Barrier() }

// deadline returns when a timeout is over; the zero time, which means never, for 0.
func deadline(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}

// allgather puts this PE's contribution, waits in a fence, and gets the contributions of all PEs.
func (c *Client) allgather(mine []byte) ([][]byte, error) {
	key := fmt.Sprintf("shmem-%d", process.steps.N)
	// Some servers treat a key without bytes as one that does not exist: put one byte more.
	if err := put(key, append([]byte{0}, mine...)); err != nil {
		return nil, err
	}
	if err := c.barrier(); err != nil {
		return nil, err
	}
	return c.collect(key, mine)
}

// collect gets the contribution of each PE. It starts all requests before it waits for the first
// reply: a thread of libpmix handles each one, and waking it and being woken by it once for every
// PE took longer than the fence.
func (c *Client) collect(key string, mine []byte) (all [][]byte, err error) {
	var calls []call
	defer func() {
		for _, g := range calls {
			g.free()
		}
	}()
	fail := func(pe libshmem.PE, err error) error { return fmt.Errorf("the values of PE %d: %w", pe, err) }
	for pe := range libshmem.PE(c.Size()) {
		g, err := get(pe, key)
		if err != nil {
			return nil, fail(pe, err)
		}
		calls = append(calls, g)
	}
	all = make([][]byte, c.Size())
	end := deadline(c.timeout)
	for pe, g := range libshmem.ByPE(calls) {
		if pe == c.Rank() {
			all[pe] = slices.Clone(mine)
			continue
		}
		b, err := g.wait(end)
		if err == nil && len(b) == 0 {
			err = errNotFound
		}
		if err != nil {
			return nil, fail(pe, err)
		}
		all[pe] = b[1:]
	}
	return all, nil
}

// barrier waits in a fence until all PEs have called it. After the timeout it returns an error that
// names the PEs that have not published that they wait.
func (c *Client) barrier() error {
	f, err := fence()
	if err != nil {
		return err
	}
	defer f.free()
	began, end := time.Now(), deadline(c.timeout)
	publish := began.Add(publishAfter)
	if c.timeout > 0 {
		publish = began.Add(min(publishAfter, c.timeout/4))
	}
	if _, err = f.wait(publish); err != errLate {
		return err
	}
	key := fmt.Sprintf("shmem-here-%d", process.steps.N)
	if err := put(key, []byte("here")); err != nil {
		return err
	}
	if _, err = f.wait(end); err != errLate {
		return err
	}
	missing, err := c.absent(key)
	if err != nil {
		return err
	}
	// The fence may have completed meanwhile.
	if _, err = f.wait(time.Now()); err != errLate {
		return err
	}
	if len(missing) == 0 {
		return fmt.Errorf("all PEs have arrived, but the launcher does not say so within %v", c.timeout)
	}
	return &bootstrap.MissingError{Missing: missing, Waited: c.timeout}
}

// absent returns the PEs that have not published the key by which a PE says that it waits in the
// barrier. All look-ups are started first, and together have lookupTime.
func (c *Client) absent(key string) (missing []libshmem.PE, err error) {
	calls := make([]call, c.Size())
	for pe := range libshmem.PE(c.Size()) {
		if calls[pe], err = get(pe, key); err != nil {
			calls = calls[:pe]
			break
		}
	}
	end := time.Now().Add(lookupTime)
	for pe, g := range libshmem.ByPE(calls) {
		if _, e := g.wait(end); e != nil && pe != c.Rank() {
			missing = append(missing, pe)
		}
		g.free()
	}
	return missing, err
}

// Secret implements bootstrap.Bootstrap: it returns the secret that only PEs of the job know.
func (c *Client) Secret() *secret.Secret { return &c.secret }

// Abort implements bootstrap.Bootstrap: the end of this process ends the job. With
// PMIx_Abort, which several PEs then call at the same time, mpirun of Open MPI 4.1.4 hung
// in two of four jobs.
func (c *Client) Abort(int, string) {}

// Exit implements bootstrap.Bootstrap: it requests the end of the job with a status.
func (c *Client) Exit(status int) { abort(status) }

// Over implements bootstrap.Bootstrap: it reports whether the launcher is gone.
func (c *Client) Over() bool { return serverLost() }

// Losses implements bootstrap.Bootstrap. It returns none: PMIx launchers end the job after a loss,
// or do not report it.
func (c *Client) Losses() []bootstrap.Loss { return nil }

// NewsFD implements bootstrap.Bootstrap: it returns a descriptor that becomes readable when the
// connection to the launcher is lost, or -1.
func (c *Client) NewsFD() int { return serverLostFD() }

// Launcher implements bootstrap.Launched: it returns the launcher's name for messages.
func (c *Client) Launcher() string { return "the PMIx server of mpirun or srun" }

// Close implements bootstrap.Bootstrap. The connection to the launcher stays open for another
// Client; Depart ends it.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		process.mu.Lock()
		process.busy = false
		process.mu.Unlock()
	}
	return nil
}
