package fabrictest

import (
	"cmp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/tests/need"
)

const (
	unreadBytes  = 16 << 10               // bytes of a write
	unreadPlaces = biggest / unreadBytes  // places in the target's memory; write i goes to place i modulo this number
	unreadSleep  = 100 * time.Millisecond // as long as the proxy sleeps at most

	unreadUnderWay = 64 // writes under way at a time, unless Limits.Writes is less
)

// unreadWrites is the number of Writes of writeRound. It is so large that an endpoint that sleeps
// after each Write it reads has most of them unread.
var unreadWrites = need.Load("unread")

// unread tests that Writes reach an endpoint that only serves, as the proxy does, and has no
// operation of its own. Writes leave no completion at their target, and over sockets each Poll of
// the target moves at most one of them: an endpoint that sleeps after each Poll without
// completions, until something new arrives, moves one Write in each sleep.
func unread(t *testing.T, s *suite) {
	if limit := s.limits.Full; limit != "" {
		t.Logf("not tested: known limit: %s", limit)
		return
	}
	for _, c := range []struct {
		name    string
		writers int
	}{{"one sends", 1}, {"both send", 2}} {
		t.Run(c.name, func(t *testing.T) {
			all, underWay := s.endpoints(t, 2), unreadUnderWay
			if s.limits.Writes > 0 && c.writers == 2 {
				underWay = s.limits.Writes
			}
			var idle sync.WaitGroup
			var stop atomic.Bool
			if c.writers == 1 {
				idle.Add(1)
				go func() {
					defer idle.Done()
					serveUntil(t, all[1], stop.Load)
				}()
			}
			var writing sync.WaitGroup
			var wrote atomic.Int32
			for i := range libshmem.PE(c.writers) {
				writing.Add(1)
				go func() {
					defer writing.Done()
					writeRound(t, all[i], all[1-i], 1-i, underWay)
					// Writes of the other endpoint may complete only when this endpoint has read
					// them.
					wrote.Add(1)
					all[1-i].prov.Wake()
					serveUntil(t, all[i], func() bool { return int(wrote.Load()) == c.writers })
				}()
			}
			writing.Wait()
			begin := time.Now()
			stop.Store(true)
			all[1].prov.Wake()
			idle.Wait()
			// The endpoints are served one after the other, so that no goroutine reads memory that
			// another goroutine writes in Go: the race detector would report that.
			limit := cmp.Or(s.limits.Unread, time.Second)
			for i := range libshmem.PE(c.writers) {
				arrives(t, all[1-i], limit)
			}
			t.Logf("in place %v after the last write was complete at its source", time.Since(begin))
		})
	}
}

// arrives serves an endpoint until the last writes to it are in place. It fails the test when the
// endpoint has slept for longer than limit in all, or has got nothing for timeout. Only sleeps
// count for limit, because the rest of the time depends on other programs.
func arrives(t *testing.T, e *endpoint, limit time.Duration) {
	var pace fabric.Pace
	var asleep time.Duration
	known, last := 0, time.Now()
	for n := 0; n < unreadPlaces; n = placesOfRound(e, known) {
		if n > known {
			known, last = n, time.Now()
		}
		if asleep > limit || time.Since(last) > timeout {
			n = 0
			for i := range unreadPlaces {
				if placeOfRound(e, i) {
					n++
				}
			}
			t.Errorf("%d of the last %d writes are in place, all complete at their source: the end was asleep for %v, and has got nothing for %v",
				n, unreadPlaces, asleep, time.Since(last))
			return
		}
		begin := time.Now()
		slept, err := e.serve(&pace, unreadSleep)
		if err != nil {
			t.Error(err)
			return
		}
		if slept {
			asleep += min(time.Since(begin), unreadSleep)
		}
	}
}

// serveUntil serves an endpoint as the proxy does until ok returns true.
func serveUntil(t *testing.T, e *endpoint, ok func() bool) {
	var pace fabric.Pace
	for !ok() {
		if _, err := e.serve(&pace, unreadSleep); err != nil {
			t.Error(err)
			return
		}
	}
}

// placesOfRound returns how many of the last writes of writeRound are in place, counted from the
// first up to one that is missing; known were in place at the last call. Most writes arrive in
// order, so it checks only the next ones. When all are in place, it checks all once more.
func placesOfRound(e *endpoint, known int) int {
	for known < unreadPlaces && placeOfRound(e, known) {
		known++
	}
	for n := 0; known == unreadPlaces && n < unreadPlaces; n++ {
		if !placeOfRound(e, n) {
			return n
		}
	}
	return known
}

// placeOfRound reports whether the last write to a place has arrived there.
func placeOfRound(e *endpoint, place int) bool {
	i := unreadWrites - unreadPlaces + place
	at := atTarget + i%unreadPlaces*unreadBytes
	for _, k := range []int{0, unreadBytes / 2, unreadBytes - 1} {
		if e.mem[at+k] != roundByte(i, k) {
			return false
		}
	}
	return true
}

// roundByte returns byte k of the write with a number.
func roundByte(write, k int) byte { return byte(1 + (write*31+k>>10)%255) }

// roundLine is how many consecutive bytes of a write are equal.
const roundLine = 1 << 10

// roundLines has a line of roundLine equal bytes for each value of a byte.
var roundLines = func() (all [256][roundLine]byte) {
	for b := range all {
		for i := range all[b] {
			all[b][i] = byte(b)
		}
	}
	return all
}()

// writeRound posts unreadWrites writes to the target, with at most limit of them under way at a
// time. It returns when all are complete at the source, or when nothing has moved for the suite's
// timeout. The second of two writes to one place is posted when the first is complete. Without
// that, a write that waited for the handshake of one rail overwrote a later one, which another rail
// had carried meanwhile.
func writeRound(t *testing.T, e, target *endpoint, to libshmem.PE, limit int) {
	free := newPool(limit)
	deadline := time.Now().Add(timeout)
	filled := fabric.NoToken         // token of write i, once its bytes are at its source
	fruitless := 0                   // consecutive polls without a completion
	places := map[fabric.Token]int{} // of the writes that are under way
	var taken [unreadPlaces]bool
	for i := 0; i < unreadWrites || len(free) < limit; {
		if i < unreadWrites && filled == fabric.NoToken && len(free) > 0 && !taken[i%unreadPlaces] {
			// Each token has a source, which does not change before its write is complete.
			filled = free.next()
			free.take()
			for k := 0; k < unreadBytes; k += roundLine {
				copy(e.mem[sourceOfRound(filled)+k:], roundLines[roundByte(i, k)][:])
			}
		}
		if filled != fabric.NoToken {
			op := e.rma(to, target, sourceOfRound(filled), atTarget+i%unreadPlaces*unreadBytes, unreadBytes, filled)
			switch err := e.prov.Write(&op); err {
			case nil:
				places[filled], taken[i%unreadPlaces] = i%unreadPlaces, true
				filled = fabric.NoToken
				i++
				deadline = time.Now().Add(timeout)
				continue
			case fabric.ErrAgain:
			default:
				t.Errorf("write %d: %v", i, err)
				return
			}
		}
		n, err := e.prov.Poll(e.batch[:])
		for _, c := range e.batch[:n] {
			if c.Err != 0 {
				t.Errorf("write: %s", e.prov.ErrorText(&c))
				return
			}
			free = append(free, c.Token)
			taken[places[c.Token]] = false
			deadline = time.Now().Add(timeout)
		}
		if err != nil || time.Now().After(deadline) {
			t.Errorf("%d of %d writes were posted, and %d are under way; nothing in %v: %v", i, unreadWrites, limit-len(free), timeout, err)
			return
		}
		// The other endpoint has to read what has arrived: an endpoint that polls on and on keeps a
		// simulated network to itself.
		if fruitless++; n > 0 || e.prov.Ready() {
			fruitless = 0
		} else if fruitless == 128 { // so many in a row: leave the network to the other endpoint
			fruitless = 0
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// sourceOfRound returns the offset of the source of the write with a token.
func sourceOfRound(tok fabric.Token) int { return atSource + int(tok-firstOther)*unreadBytes }

// Oversleeps counts the sleeps of an endpoint that ended by their limit although Writes to it lay
// unread. It returns when all bytes are in place or it has counted limit such sleeps. The caller
// decides which number is a fault: a provider oversleeps if its Arm checks too little.
func Oversleeps(t *testing.T, open Open, limit int) (n int) {
	timeout = time.Minute
	s := &suite{open: open}
	all := s.endpoints(t, 2)
	var stop atomic.Bool
	var served sync.WaitGroup
	served.Add(1)
	go func() {
		defer served.Done()
		var pace fabric.Pace
		for target := all[1]; n < limit; {
			if stop.Load() && placesOfRound(target, 0) == unreadPlaces {
				return
			}
			slept, err := target.serve(&pace, unreadSleep)
			if err != nil {
				t.Error(err)
				return
			}
			if slept && !target.came && target.prov.Ready() {
				n++
			}
		}
		for !stop.Load() { // the writer has to finish
			if _, err := all[1].prov.Poll(all[1].batch[:]); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	writeRound(t, all[0], all[1], 1, unreadUnderWay)
	stop.Store(true)
	all[1].prov.Wake()
	served.Wait()
	return n
}
