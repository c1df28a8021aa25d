package proxy

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/clock"
)

// eventNames are what is printed of an event, with its detail and number for the verbs.
var eventNames = [...]struct {
	format string
	args   args
}{
	evSent:     {"sent message %d: %s, %d bytes", message},
	evApplied:  {"applied message %d: %s, %d bytes", message},
	evKept:     {"keeps message %d until those before it are in: %s, %d bytes", message},
	evAcked:    {"the PE has applied %d units, %d are unanswered", numberDetail},
	evWrite:    {"posted write of %d bytes, token %d", numberDetail},
	evRead:     {"posted read of %d bytes, token %d", numberDetail},
	evDone:     {"token %d is complete", detail},
	evBroke:    {"token %d failed with error %d", detailNumber},
	evArrived:  {"%d writes of the PE are in", number},
	evQueued:   {"queued an operation, token %d", detail},
	evParked:   {"parked a message: %s", kindOnly},
	evNoCredit: {"refused an operation for want of credit", often},
	evNoTurn:   {"refused an operation that has to follow others", often},
	evNoRoom:   {"the provider had no room", often},
	evLost:     {"gave the PE up", nothing},
	evSleep:    {"the proxy sleeps", nothing},
	evWoken:    {"the network wakes the proxy", often},
	evLimit:    {"the proxy slept and nothing came", often},
	evNap:      {"the proxy leaves the network to callers", often},
	evNoSleep:  {"the proxy waits for room", often},
}

// args says what the verbs of a format are.
type args int

const (
	nothing      args = iota
	number            // the number
	detail            // the detail
	numberDetail      // both
	detailNumber      // in the other order
	message           // number, kind and bytes
	kindOnly          // the detail, as a kind
	often             // none; and how often, where more than once
)

// kindNames are what messages are called in a record.
var kindNames = [...]string{
	kindAMO: "atomic", kindStore: "element", kindPut: "put", kindPutSignal: "put with signal", kindFlush: "how far are you", kindReply: "answer",
	kindOffer: "offer", kindTaken: "taken", kindFetch: "fetch", kindData: "data", kindExtent: "extent", kindPing: "ping",
	kindStream: "stream wanted", kindStreamed: "stream", kindVoid: "void", kindBatch: "batch",
	kindAsk: "what do you do", kindTold: "what I do",
}

func (k kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Recorded is one event of the flight recorder.
type Recorded struct {
	Ago time.Duration // before it was looked at
	entry
}

// String is the event for people.
func (r Recorded) String() string {
	what, d, n := event(r.what), uint32(r.what)>>8, uint32(r.what>>32)
	var b strings.Builder
	if int(what) >= len(eventNames) || eventNames[what].format == "" {
		fmt.Fprintf(&b, "event %d of %d and %d", what, d, n)
	} else {
		e := &eventNames[what]
		fmt.Fprintf(&b, e.format, e.args.of(d, n)...)
		if e.args == often && n > 1 {
			fmt.Fprintf(&b, ", %d times in a row", n)
		}
	}
	if s := r.when % (1 << streamBits); s != 0 {
		fmt.Fprintf(&b, ", context %d", s)
	}
	return b.String()
}

func (a args) of(d, n uint32) []any {
	switch a {
	case number:
		return []any{n}
	case detail:
		return []any{d}
	case numberDetail:
		return []any{n, d}
	case detailNumber:
		return []any{d, n}
	case message:
		return []any{n, kind(d >> 16), d & 0xffff}
	case kindOnly:
		return []any{kind(d)}
	}
	return nil
}

// readings are two moments by both clocks, for what a tick is in nanoseconds.
type readings struct {
	first, firstTime uint64 // when the page was made
	now, nowTime     uint64
}

// ago is how long before now a tick of an event was. The first bits of it are not kept.
func (t *readings) ago(when uint64) time.Duration {
	ticks := (t.now<<streamBits - when&^(1<<streamBits-1)) >> streamBits
	all := t.now - t.first
	if ticks > all || all == 0 {
		return 0 // recorded since now was
	}
	return time.Duration(float64(ticks) / float64(all) * float64(t.nowTime-t.firstTime))
}

// recorded lists the events of a ring, oldest first, of which there were so many before it
// was read and so many afterwards: those that were overwritten meanwhile are left out. So is
// the oldest one where it is being overwritten: then it is the latest.
func (t *readings) recorded(r *ring, before, after uint32) []Recorded {
	n := min(before, ringEvents)
	if made := after - before; before+made > ringEvents {
		n = min(n, ringEvents-min(made, ringEvents))
	}
	all := make([]Recorded, 0, n)
	for i := before - n; i != before; i++ {
		e := r[i%ringEvents]
		all = append(all, Recorded{t.ago(e.when), e})
	}
	if n == ringEvents && all[0].Ago < all[n-1].Ago {
		all = all[1:]
	}
	return all
}

// merged puts the events of the proxy's thread that fall into the time of a PE's events, and
// behind it, among those.
func merged(of, own []Recorded) []Recorded {
	if len(of) == 0 {
		return nil
	}
	from := slices.IndexFunc(own, func(r Recorded) bool { return r.Ago <= of[0].Ago })
	if from < 0 {
		return of
	}
	all := append(slices.Clone(of), own[from:]...)
	slices.SortStableFunc(all, func(a, b Recorded) int { return int(b.Ago/time.Nanosecond - a.Ago/time.Nanosecond) })
	return all
}

// Flight lists the last events with a PE, and those of the proxy meanwhile, oldest first. The
// lock is held.
func (e *Engine) Flight(pe fabric.PE) []Recorded {
	s, p := e.shown, &e.first.peers[pe]
	t := readings{s.ticks, s.time, clock.Now(), live.Now()}
	before := atomic.LoadUint32(&s.recorded)
	own := e.rings[ownRing].load()
	return merged(t.recorded(&e.rings[p.ring], p.recorded, p.recorded), t.recorded(&own, before, atomic.LoadUint32(&s.recorded)))
}

// Latest names the PEs whose recorder an onlooker wants to see, n at most: first those with
// something under way, of these and of the others the one with the latest event first. The
// lock is held.
func (e *Engine) Latest(n int) []fabric.PE {
	var all []latest
	for i, pe := range e.met[ownRing+1:] {
		if n := e.first.peers[pe].recorded; n > 0 {
			all = append(all, latest{pe, e.busyWith(pe), e.rings[ownRing+1+i][(n-1)%ringEvents].when})
		}
	}
	return pick(all, n)
}

type latest struct {
	pe   fabric.PE
	busy bool
	when uint64
}

func pick(all []latest, n int) (pes []fabric.PE) {
	slices.SortStableFunc(all, func(a, b latest) int {
		switch {
		case a.busy != b.busy:
			if a.busy {
				return -1
			}
			return 1
		case a.when != b.when:
			if a.when > b.when {
				return -1
			}
			return 1
		}
		return 0
	})
	for _, l := range all[:min(n, len(all))] {
		pes = append(pes, l.pe)
	}
	return pes
}

// busyWith tells whether something is under way with a PE.
func (e *Engine) busyWith(pe fabric.PE) (busy bool) {
	e.all(func(s *Engine) {
		p := &s.peers[pe]
		busy = busy || p.tokens > 0 || p.parked > 0 || p.early > 0 || p.queued > 0 || p.flushing
	})
	return busy
}

// FlightLines are events for people, a line for each, with the milliseconds from now on.
func FlightLines(all []Recorded) (lines []string) {
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%+12.3f ms  %s", -float64(r.Ago)/1e6, r))
	}
	return lines
}
