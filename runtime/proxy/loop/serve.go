package loop

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath"
	"libshmem/runtime/proxy/wait"
)

const (
	// hostSpin is the time that the proxy polls for more work before it sleeps, if all producers
	// are threads of this process: to wake it costs less than to let it poll for longer.
	hostSpin = 20 * time.Microsecond
	// deviceSpin is the time that the proxy polls before it sleeps if the producers are kernels,
	// which cannot wake it. devicePoll is how long it then sleeps between two polls: a poll takes 5
	// us, so that is 1 % of a processor.
	deviceSpin = 100 * time.Millisecond
	devicePoll = 500 * time.Microsecond
	// late is the shortest time off its processor that is reported: a GPU kernel that waits for the
	// proxy waits as long. Other processes of the machine use a processor for that long now and
	// then, so one such time is no warning yet.
	late = time.Millisecond
	// The proxy warns when it was off its processor for lateMuch once, or lateOften times within
	// lateEvery, and at most once in lateEvery.
	lateMuch  = 10 * time.Millisecond
	lateOften = 3
	lateEvery = 10 * time.Second
)

// LateError reports that the operating system took the processor from a proxy for a while, so that
// operations of GPU kernels had to wait.
type LateError struct {
	Gap   time.Duration
	Times int  // number of times so far
	Grave bool // the proxy was off its processor for long, or often
}

// Error says how long and how often the proxy was off its processor, and ends with the remedy.
func (e *LateError) Error() string {
	return fmt.Sprintf("proxy: was off its processor for %v, %d times so far more than %v: operations of kernels wait that long "+
		"(leave a processor free for each proxy thread)", e.Gap.Round(100*time.Microsecond), e.Times, late)
}

// lateness records the times when a proxy thread was off its processor.
type lateness struct {
	times  int
	recent [lateOften]time.Time // the latest, oldest first
	warned time.Time            // time of the last warning
	noted  time.Time            // time of the last report of any kind
}

// add records that the proxy thread was off its processor for gap. It returns a LateError to
// report, or nil if one was reported within lateEvery. A long gap, or many gaps within lateEvery,
// are a warning (grave), which has its own limit, so that a note does not suppress it.
func (l *lateness) add(now time.Time, gap time.Duration) error {
	l.times++
	copy(l.recent[:], l.recent[1:])
	l.recent[lateOften-1] = now
	grave := gap > lateMuch || l.times >= lateOften && now.Sub(l.recent[0]) <= lateEvery
	last := &l.noted
	if grave {
		last = &l.warned
	}
	if !last.IsZero() && now.Sub(*last) < lateEvery {
		return nil
	}
	*last, l.noted = now, now
	return &LateError{gap, l.times, grave}
}

// serveState is the state of one proxy thread between two iterations of its loop.
type serveState struct {
	lastWork   time.Time // time of the last work
	pollEnd    time.Time // time when the last iteration ended; zero after a sleep
	late       lateness
	tid        int   // the thread at the last check of lateness
	switches   int64 // involuntary context switches of that thread at that check
	registered bool  // the process is registered for membarrier
	pace       fabric.Pace
}

// Attach sets the consumer whose rings the loop empties from now on, and wakes the loop. device:
// the producers are kernels, which cannot wake the loop.
func (l *Loop) Attach(c *Consumer, device bool) {
	c.device, c.loop = device, l
	if c.inner != nil {
		c.inner.SetYields(c.yields())
	}
	l.consumer.Store(c)
	l.e.Rouse()
}

// serve performs one iteration of the loop for an engine with rings: it lets C serve them for a
// while, takes further operations itself, polls the network, and pauses or sleeps if there was no
// work for spinTime. An error ends the job.
func (l *Loop) serve(c *Consumer) error {
	s, e := &c.serve, l.e
	inC, held, err := l.serveInC(c)
	if err != nil || !held && !e.LockYielding() {
		return err // nil: another thread has the lock, and the next iteration tries again
	}
	did := c.Drain()
	if did > 0 {
		e.MarkCopies() // before the poll of the network, because signals of GPU memory would otherwise be 3 us late
	}
	n, err := e.Poll()
	stuck := e.NoRoom() || c.Holds()
	now := time.Now()
	e.Publish(now, stuck)
	e.Unlock()
	if err != nil {
		return err
	}
	c.watch(now, inC)
	if inC.Taken+inC.Completed > 0 {
		s.lastWork = now.Add(-inC.Idle) // C was without work for Idle when it returned
		s.pace.NoteWork()
	}
	if did+n > 0 {
		s.lastWork = now
		s.pace.NoteWork()
		return nil
	}
	c.watchRings(now)
	if c.ending.Load() {
		l.endConsumer(c)
		return nil
	}
	if now.Sub(s.lastWork) < c.spinTime() {
		if c.yields() {
			wait.Yield() // another thread may need this processor more
		}
		return nil
	}
	if stuck {
		e.NoteStayAwake()
		wait.Sleep(contended) // the provider's queue may empty without a completion
		s.pollEnd = time.Time{}
		return nil
	}
	return l.sleepWith(c)
}

// yields reports whether the proxy yields its processor when it finds nothing. A producer thread
// may need that processor, or the PE that sends the next message; a kernel needs none.
func (c *Consumer) yields() bool { return !c.device || c.crowded }

// spinTime returns how long the proxy polls for more work before it sleeps: longer for kernels,
// which cannot wake it.
func (c *Consumer) spinTime() time.Duration {
	if c.device {
		return deviceSpin
	}
	return hostSpin
}

// Finish waits until the rings are empty and the pushed operations are complete, and then detaches
// the consumer from its loop. Preconditions: no producer pushes any more, the consumer is attached,
// and the caller does not hold the engine's lock, which the loop needs to complete the operations.
func (c *Consumer) Finish() {
	c.ending.Store(true)
	c.loop.e.Rouse()
	<-c.ended
}

// endConsumer is called after Finish, in an iteration that found no work. It requests a last
// settlement (a quiet of everything taken from the rings), and detaches the consumer when that is
// complete.
func (l *Loop) endConsumer(c *Consumer) {
	switch {
	case c.Holds():
		wait.Yield()
	case c.last == 0:
		c.last = c.order.requested.Add(1)
	case c.order.complete.Load() >= c.last:
		l.consumer.Store(nil)
		if c.sleeper != nil {
			c.sleeper.Close()
		}
		c.closeInnerLoop()
		close(c.ended)
	default:
		wait.Yield()
	}
}

// sleepWith sleeps until an operation is pushed or the network has a completion, for at most
// idleWait, or c.stall if that is less, so that watchRings runs in time.
func (l *Loop) sleepWith(c *Consumer) error {
	defer func() { c.serve.pollEnd = time.Time{} }()
	rest := idleWait
	if c.stall > 0 {
		rest = min(rest, c.stall)
	}
	if c.device {
		return l.sleepPolling(c, rest)
	}
	for _, s := range c.rings {
		s.ring.Sleep(true)
	}
	defer func() {
		for _, s := range c.rings {
			s.ring.Sleep(false)
		}
	}()
	// A producer stores its slots, then checks whether the proxy sleeps. The proxy announces its
	// sleep, then checks the slots. One of the two must see the other, which takes a barrier on
	// both sides: this one is issued for all threads. Without it a producer may not wake the proxy,
	// so the sleep is short.
	if !c.serve.orderAll() {
		rest = time.Millisecond
	}
	if c.hasWork() {
		return nil
	}
	if l.e.NapWhilePolled() { // callers serve the network, and producers end the nap
		return nil
	}
	_, err := l.sleepArmed(c, rest)
	return err
}

// sleepPolling sleeps for at most rest when the producers are kernels, which cannot wake a thread:
// it polls the rings every devicePoll. It does so in C if the provider has a wait function in C. It
// returns when there is work, or may be.
func (l *Loop) sleepPolling(c *Consumer, rest time.Duration) error {
	e := l.e
	native := e.Native()
	if native.Wait == nil {
		for slept := time.Duration(0); slept < rest && !c.hasWork() && !l.stopping.Load() && !c.ending.Load(); slept += devicePoll {
			if came, err := l.sleepArmed(c, devicePoll); came || err != nil {
				return err
			}
		}
		return nil
	}
	if !e.TryLock() {
		return nil
	}
	armed := e.Arm()
	e.Unlock()
	if !armed {
		c.serve.pauseRefused()
		return nil
	}
	if c.hasWork() {
		return nil
	}
	if c.sleeper == nil {
		c.sleeper = wait.New(len(c.rings), native.Wait, native.Self)
	}
	for _, s := range c.rings {
		c.sleeper.Add(s.ring.HeadSlot())
	}
	limit := e.SleepBegins(rest)
	came, failure := c.sleeper.Sleep(devicePoll, rest)
	if failure != 0 {
		return fmt.Errorf("wait for the network: error %d of libfabric", failure)
	}
	if e.NoteSleepEnd(came, rest, limit); came {
		e.WakeSleepers()
	}
	return nil
}

// sleepArmed sleeps for at most d, until the network has a completion or another thread wakes it:
// then it returns true, and false after d. It returns true without that sleep, too, if another
// thread holds the lock or the provider has work (Arm).
func (l *Loop) sleepArmed(c *Consumer, d time.Duration) (bool, error) {
	e := l.e
	if !e.TryLock() {
		return true, nil
	}
	armed := e.Arm()
	e.Unlock()
	if !armed {
		c.serve.pauseRefused()
		return true, nil
	}
	came, err := e.Wait(d)
	if came {
		e.WakeSleepers()
	}
	return came, err
}

// pauseRefused pauses after Arm has refused, because the provider has work. The pause is long only
// for a provider whose Arm always refuses.
func (s *serveState) pauseRefused() { wait.Sleep(s.pace.NoteRefusal(time.Now())) }

// hasWork reports whether a ring has an operation, or a consumer of this PE asks this one to read
// its rings up to where they are now (order). It is checked before a sleep, and only reads.
func (c *Consumer) hasWork() bool {
	for _, s := range c.rings {
		// A slot is filled when its highest bit is that of the present lap around the ring.
		if word, lap := s.ring.HeadSlot(); (atomic.LoadUint64(word)^lap)>>63 == 0 {
			return true
		}
	}
	return c.order.requested.Load() != c.order.covers
}

// watch is called once in each iteration, at the time now, after C has served the rings as inC
// says. It reports that the operating system took the processor from this thread for at least
// `late` although the thread did not sleep: operations of GPU kernels had to wait. An involuntary
// context switch since the last such time is taken for the cause: a getrusage in each iteration
// would cost too much.
func (c *Consumer) watch(now time.Time, inC fastpath.Account) {
	s := &c.serve
	gap := max(now.Sub(s.pollEnd)-inC.Ran, inC.Gap)
	first := s.pollEnd.IsZero()
	s.pollEnd = now
	if first || gap < late {
		return
	}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return
	}
	// The count of another thread is no use here: the loop may run on another thread now.
	tid := unix.Gettid()
	taken := tid == s.tid && u.Nivcsw > s.switches
	s.tid, s.switches = tid, u.Nivcsw
	if !taken {
		return
	}
	if !c.device {
		return // host threads share the processors with the proxy anyway
	}
	if err := s.late.add(now, gap); err != nil {
		c.report(err)
	}
}

// Commands of membarrier, from linux/membarrier.h: MEMBARRIER_CMD_PRIVATE_EXPEDITED, and its
// registration.
const (
	membarrierPrivate  = 1 << 3
	membarrierRegister = 1 << 4
)

// orderAll makes every running thread of this process order its memory accesses (membarrier), for
// the sleep of a proxy: a barrier that the producers, too, need between their store of an operation
// and their check whether the proxy sleeps. It returns false if the kernel cannot do that.
func (s *serveState) orderAll() bool {
	if !s.registered {
		if _, _, err := unix.Syscall(unix.SYS_MEMBARRIER, membarrierRegister, 0, 0); err != 0 {
			return false
		}
		s.registered = true
	}
	_, _, err := unix.Syscall(unix.SYS_MEMBARRIER, membarrierPrivate, 0, 0)
	return err == 0
}
