package fabrictest

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/tests/need"
)

// quiet is a time in which nothing has happened. It also counts checks, because a thread that had
// no processor for that time has not noticed what happened.
type quiet struct {
	since  time.Time
	checks int
}

// lasts records the result of one check, something or nothing, and reports whether there was
// nothing for the time d and in 200 consecutive checks.
func (q *quiet) lasts(d time.Duration, something bool) bool {
	if something || q.since.IsZero() {
		*q = quiet{since: time.Now()}
	}
	q.checks++
	return q.checks > 200 && time.Since(q.since) >= d
}

// settle polls all endpoints until nothing more arrives, so that a Wait has no reason to end.
func settle(t *testing.T, all []*endpoint) {
	t.Helper()
	var q quiet
	for came := true; !q.lasts(20*time.Millisecond, came); {
		came = false
		for _, e := range all {
			if e.poll(t) > 0 {
				came = true
			}
		}
	}
}

// cpu returns the processor time that this process has used.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waitFor serves an idle endpoint as the proxy does, until d has passed, and counts the sleeps. It
// fails the test if an endpoint that nothing has reached is ready after a sleep: the proxy would
// report that it has overslept.
func waitFor(t *testing.T, e *endpoint, d time.Duration) (sleeps int) {
	t.Helper()
	var pace fabric.Pace
	for stop := time.Now().Add(d); time.Now().Before(stop); {
		slept, err := e.serve(&pace, time.Until(stop))
		if err != nil {
			t.Fatal(err)
		}
		if slept {
			sleeps++
			if !e.came && e.prov.Ready() {
				t.Errorf("sleep %d ended without an event, and the endpoint is ready", sleeps)
			}
		}
	}
	return sleeps
}

// serve does once what a thread that serves an endpoint as the proxy does repeats: it polls, and
// where there is nothing sleeps for d at most. New completions are in e.comps.
func (e *endpoint) serve(pace *fabric.Pace, d time.Duration) (slept bool, err error) {
	n, err := e.prov.Poll(e.batch[:])
	e.comps = append(e.comps, e.batch[:n]...)
	switch {
	case err != nil:
		return false, err
	case n > 0:
		pace.NoteWork()
		return false, nil
	case pace.Nothing():
		return false, nil
	case !e.prov.Arm():
		time.Sleep(pace.NoteRefusal(time.Now()))
		return false, nil
	}
	e.came, err = e.prov.Wait(d)
	if !e.caps.WaitFD {
		pace.NoteSleep(time.Now())
	}
	return true, err
}

// sleep tests that a Wait without work sleeps, before the first message and after it.
func sleep(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	for _, when := range []string{"before any message", "after a message"} {
		settle(t, all)
		runtime.GC()
		d := time.Duration(need.Load("sleep")) * time.Millisecond
		before := cpu(t)
		sleeps := waitFor(t, b, d)
		used := cpu(t) - before
		t.Logf("%s: %d sleeps, %v of processor in %v", when, sleeps, used, d)
		// The cost of one poll of an idle queue depends on the provider and the machine; the test
		// checks mainly the number of sleeps.
		if b.caps.WaitFD && (sleeps > 20 || used > d/2) {
			t.Errorf("%s: %d sleeps and %v of processor in %v, although nothing came", when, sleeps, used, d)
		}
		// A Wait without a descriptor lasts for some 500 us; twice as many sleeps are too many.
		if !b.caps.WaitFD && sleeps > int(d/(250*time.Microsecond)) {
			t.Errorf("%s: %d sleeps in %v: it spins", when, sleeps, d)
		}
		b.receive(t, all, 0, message)
		a.send(t, all, 1, atSource, 64, firstOther)
		b.waitDone(t, all, 0, fabric.KindRecv)
		a.waitDone(t, all, firstOther, fabric.KindSend)
	}
}

// wake tests that Wake ends a Wait from another thread, and the next Wait when none is under way.
func wake(t *testing.T, s *suite) {
	e := s.endpoints(t, 2)[1]
	settle(t, []*endpoint{e})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	for range 3 {
		var wokeAt atomic.Int64 // when Wake was called, in nanoseconds after start; 0: not yet
		var inWait atomic.Bool
		start := time.Now()
		var waker sync.WaitGroup
		waker.Add(1)
		go func() {
			defer waker.Done()
			// Wake is called once the thread sleeps in Wait. A Wait without a descriptor has short
			// sleeps, which are over before they are seen.
			for asleep := false; !asleep && time.Since(start) < timeout/4; time.Sleep(time.Millisecond) {
				asleep = inWait.Load() && (need.Asleep(os.Getpid(), thread) || !e.caps.WaitFD)
			}
			wokeAt.Store(int64(time.Since(start)))
			e.prov.Wake()
		}()
		waits := 0
		for ; wokeAt.Load() == 0; waits++ {
			if e.poll(t) > 0 || !e.prov.Arm() {
				continue
			}
			inWait.Store(true)
			_, err := e.prov.Wait(timeout)
			inWait.Store(false)
			if err != nil {
				t.Fatal(err)
			}
		}
		ended := time.Since(start)
		waker.Wait()
		if late := ended - time.Duration(wokeAt.Load()); late > timeout/2 {
			t.Errorf("Wait ended %v after Wake", late)
		}
		if e.caps.WaitFD && waits > 10+int(ended/(50*time.Millisecond)) {
			t.Errorf("Wait ended %d times before Wake", waits-1)
		}
		// If Wake was called after the last Wait had ended by itself, Wake ends this Wait.
		if e.prov.Arm() {
			if _, err := e.prov.Wait(time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.prov.Wake()
	start := time.Now()
	e.prov.Arm()
	if _, err := e.prov.Wait(timeout); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > timeout/2 {
		t.Errorf("a Wake before the Wait was lost: it took %v", d)
	}
}

// arrivals tests that two endpoints that sleep between messages wake each other every time. A Wait
// that no message ends lasts for timeout; one that returns within half of that was ended by a
// message, even on a busy machine.
func arrivals(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	longestWait := timeout
	if s.limits.Wait != "" {
		longestWait = time.Second
	}
	const exchanges = 200
	for _, e := range all {
		for tok := range fabric.Token(4) {
			e.receive(t, all, tok, message)
		}
	}
	var waits sync.WaitGroup
	var finished atomic.Int32
	longest := make([]time.Duration, 2)
	serve := func(me libshmem.PE) {
		defer waits.Done()
		e := all[me]
		// One message is always under way: to this endpoint, or its reply to the other.
		var got uint64 // messages that have arrived here
		sendNumber := func(n uint64) {
			binary.NativeEndian.PutUint64(e.mem[atSource:], n)
			op := fabric.Send{To: 1 - me, Buf: e.at(atSource), Len: 8, Desc: e.region.Desc, Inject: true}
			for {
				err := e.prov.Send(&op)
				if err == nil {
					return
				}
				if err != fabric.ErrAgain {
					t.Error(err)
					return
				}
				n, err := e.prov.Poll(e.batch[:])
				if err != nil {
					t.Error(err)
					return
				}
				e.comps = append(e.comps, e.batch[:n]...)
			}
		}
		if me == 0 {
			sendNumber(1)
		}
		last := time.Now()
		for got < exchanges {
			n := len(e.comps) // completions that were polled while the post was refused
			if n == 0 {
				var err error
				if n, err = e.prov.Poll(e.batch[:]); err != nil {
					t.Error(err)
					return
				}
				e.comps = append(e.comps, e.batch[:n]...)
			}
			for len(e.comps) > 0 {
				c := e.comps[0]
				e.comps = e.comps[1:]
				if c.Err != 0 || c.Kind != fabric.KindRecv {
					t.Errorf("PE %d: %+v, %s", me, c, e.prov.ErrorText(&c))
					return
				}
				number := binary.NativeEndian.Uint64(e.mem[e.buffer(c.Token):])
				for {
					err := e.prov.Recv(e.at(e.buffer(c.Token)), message, e.region.Desc, c.Token)
					if err == nil {
						break
					}
					if err != fabric.ErrAgain {
						t.Error(err)
						return
					}
					n, err := e.prov.Poll(e.batch[:])
					if err != nil {
						t.Error(err)
						return
					}
					e.comps = append(e.comps, e.batch[:n]...)
				}
				got++
				if longest[me] = max(longest[me], time.Since(last)); longest[me] >= timeout/2 && s.limits.Wait == "" {
					t.Errorf("PE %d: an arrival did not end a Wait: it took %v", me, longest[me])
					return
				}
				last = time.Now()
				// PE 1 sends the number back, and PE 0 sends the next one.
				if me == 1 || number < exchanges {
					sendNumber(number + uint64(1-me))
				}
			}
			if n == 0 && e.prov.Arm() {
				if _, err := e.prov.Wait(longestWait); err != nil {
					t.Error(err)
					return
				}
			}
			if time.Since(last) > 2*timeout {
				t.Errorf("PE %d: nothing for %v after %d messages", me, 2*timeout, got)
				return
			}
		}
		// The last message may still be on its way out: poll until the other endpoint has it.
		finished.Add(1)
		for stop := time.Now().Add(2 * timeout); finished.Load() < 2 && time.Now().Before(stop); runtime.Gosched() {
			if _, err := e.prov.Poll(e.batch[:]); err != nil {
				t.Error(err)
				return
			}
		}
	}
	start := time.Now()
	waits.Add(2)
	go serve(0)
	go serve(1)
	waits.Wait()
	took := time.Since(start)
	t.Logf("%d exchanges between sleepers in %v, the longest wait %v", exchanges, took, max(longest[0], longest[1]))
	if limit := s.limits.Wait; limit != "" {
		t.Logf("known limit: %s", limit)
	}
}
