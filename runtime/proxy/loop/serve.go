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
	// are threads of this process. They wake it at a lower cost than such a spin.
	hostSpin = 20 * time.Microsecond
	// deviceSpin is the same if the producers are kernels, which cannot wake the proxy. devicePoll
	// is how long the proxy then sleeps between two polls: with 5 us a poll that is 1 % of a
	// processor.
	deviceSpin = 100 * time.Millisecond
	devicePoll = 500 * time.Microsecond
	// late is the longest time that the proxy may be off its processor before that counts: a kernel
	// that waits for it waits as long. Other processes of the machine take a processor for that
	// long now and then.
	late = time.Millisecond
	// The proxy warns when it was off its processor for lateMuch once, or lateOften times within
	// lateEvery, and at most once in lateEvery.
	lateMuch  = 10 * time.Millisecond
	lateOften = 3
	lateEvery = 10 * time.Second
)

// LateError reports that the kernel took the processor from a proxy for a while, so that operations
// of GPU kernels had to wait.
type LateError struct {
	Gap   time.Duration
	Times int  // so far
	Grave bool // it was off for long, or often
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

// add records that the proxy thread was off its processor for gap. It returns the LateError to
// report, or nil.
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

// serveState is the state of one proxy thread between turns.
type serveState struct {
	lastWork   time.Time // when there was work last
	pollEnd    time.Time // when the last turn ended; zero after a sleep
	late       lateness
	tid        int
	switches   int64 // involuntary context switches of that thread at the last check
	registered bool  // for membarrier
	pace       fabric.Pace
}

// Attach gives the loop a consumer, whose rings the loop empties from now on. device: the producers
// are kernels, which cannot wake the loop.
func (l *Loop) Attach(c *Consumer, device bool) {
	c.device, c.loop = device, l
	if c.inner != nil {
		c.inner.Yields(c.yields())
	}
	l.consumer.Store(c)
	l.e.Rouse()
}

// serve does one turn of the loop for an engine with rings.
func (l *Loop) serve(c *Consumer) error {
	s, e := &c.serve, l.e
	inC, held, err := l.serveInC(c)
	if err != nil || !held && !e.LockYielding() {
		return err
	}
	did := c.Drain()
	if did > 0 {
		e.MarkCopies() // now: after a poll of the network signals would be 3 us late
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
		s.lastWork = now.Add(-inC.Idle)
		s.pace.Found()
	}
	if did+n > 0 {
		s.lastWork = now
		s.pace.Found()
		return nil
	}
	c.watchRings(now)
	if c.ending.Load() {
		l.endConsumer(c)
		return nil
	}
	if now.Sub(s.lastWork) < c.spin() {
		if c.yields() {
			wait.Yield() // another thread may need this processor more
		}
		return nil
	}
	if stuck {
		e.StayUp()
		wait.Sleep(contended) // room may come without a completion
		s.pollEnd = time.Time{}
		return nil
	}
	return l.sleepWith(c)
}

// yields reports whether the proxy yields its processor when it finds nothing. A producer thread
// may need that processor, or the PE that the next message comes from; a kernel needs none.
func (c *Consumer) yields() bool { return !c.device || c.crowded }

// spin returns how long the proxy polls for more work before it sleeps.
func (c *Consumer) spin() time.Duration {
	if c.device {
		return deviceSpin
	}
	return hostSpin
}

// Finish waits until the rings are empty and the pushed operations are complete, and then detaches
// the consumer from its loop. Preconditions: no producer pushes any more, the lock is not held, and
// the consumer is attached.
func (c *Consumer) Finish() {
	c.ending.Store(true)
	c.loop.e.Rouse()
	<-c.ended
}

// endConsumer is called in a turn that found nothing, after Finish. It requests a last settlement,
// and detaches the consumer when that is complete.
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

// sleepWith sleeps until an operation is pushed or the network has a completion, and for idleWait
// at most.
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
	// both sides: this one is issued for all threads.
	if !c.serve.orderAll() {
		rest = time.Millisecond
	}
	if c.pushed() {
		return nil
	}
	if l.e.NapWhilePolled() { // callers serve the network, and producers end the nap
		return nil
	}
	_, err := l.sleepArmed(c, rest)
	return err
}

// sleepPolling is sleepWith for rings of kernels, which cannot wake a thread: it polls the rings
// each devicePoll. It does so in C if the provider has a wait function in C.
func (l *Loop) sleepPolling(c *Consumer, rest time.Duration) error {
	e := l.e
	native := e.Native()
	if native.Wait == nil {
		for slept := time.Duration(0); slept < rest && !c.pushed() && !l.stopping.Load() && !c.ending.Load(); slept += devicePoll {
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
		c.serve.rest()
		return nil
	}
	if c.pushed() {
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
	if e.SleepEnded(came, rest, limit); came {
		e.WakeSleepers()
	}
	return nil
}

// sleepArmed sleeps until the network has a completion or wakes it. It returns true at once if
// there is work.
func (l *Loop) sleepArmed(c *Consumer, d time.Duration) (bool, error) {
	e := l.e
	if !e.TryLock() {
		return true, nil
	}
	armed := e.Arm()
	e.Unlock()
	if !armed {
		c.serve.rest()
		return true, nil
	}
	came, err := e.Wait(d)
	if came {
		e.WakeSleepers()
	}
	return came, err
}

// rest pauses after Arm has refused. The pause is long only for a provider whose Arm always
// refuses.
func (s *serveState) rest() { wait.Sleep(s.pace.Refused(time.Now())) }

// pushed reports whether a ring has an operation, or a consumer of this PE has requested a
// settlement.
func (c *Consumer) pushed() bool {
	for _, s := range c.rings {
		if word, lap := s.ring.HeadSlot(); (atomic.LoadUint64(word)^lap)>>63 == 0 {
			return true
		}
	}
	return c.order.requested.Load() != c.order.covers
}

// watch reports that the kernel took the processor from this thread for a while, although the
// thread did not sleep: operations of kernels had to wait.
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
	// The count of another thread says nothing: the loop may have changed threads.
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

const (
	membarrierPrivate  = 1 << 3
	membarrierRegister = 1 << 4
)

// orderAll makes every running thread of this process order its memory accesses. It returns false
// if the kernel cannot do that.
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
