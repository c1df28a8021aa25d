package flight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// eventNames has the format of each event's text, and the arguments that the format takes.
var eventNames = [...]struct {
	format string
	args   args
}{
	layout.EventSent:     {"sent message %d: %s, %d bytes", message},
	layout.EventApplied:  {"applied message %d: %s, %d bytes", message},
	layout.EventKept:     {"keeps message %d until those before it are in: %s, %d bytes", message},
	layout.EventAcked:    {"the PE has applied %d units, %d are unacknowledged", numberDetail},
	layout.EventWrite:    {"posted write of %d bytes, token %d", numberDetail},
	layout.EventRead:     {"posted read of %d bytes, token %d", numberDetail},
	layout.EventDone:     {"token %d is complete", detail},
	layout.EventBroke:    {"token %d failed with error %d", detailNumber},
	layout.EventArrived:  {"%d writes of the PE are in", number},
	layout.EventQueued:   {"queued an operation, token %d", detail},
	layout.EventParked:   {"parked a message: %s", kindOnly},
	layout.EventNoCredit: {"refused an operation for lack of credit", often},
	layout.EventNoTurn:   {"refused an operation that must follow others", often},
	layout.EventNoRoom:   {"the provider had no room", often},
	layout.EventLost:     {"gave the PE up", nothing},
	layout.EventSleep:    {"the proxy sleeps", nothing},
	layout.EventWoken:    {"the network wakes the proxy", often},
	layout.EventLimit:    {"the proxy slept and nothing came", often},
	layout.EventNap:      {"the proxy leaves the network to callers", often},
	layout.EventNoSleep:  {"the proxy waits for room", often},
}

// args says which arguments a format takes.
type args int

const (
	nothing      args = iota
	number            // the number
	detail            // the detail
	numberDetail      // the number, then the detail
	detailNumber      // the detail, then the number
	message           // the number, the kind of message and its bytes
	kindOnly          // the detail, as a kind of message
	often             // none; the text ends with the number of repetitions if there were any
)

// Recorded is one event of the flight recorder.
type Recorded struct {
	Ago time.Duration // the time from the event to the read of the recorder
	layout.Entry
}

// String returns the event as text for a report. An event that this build does not know, from the
// page of another process, is printed by its numbers.
func (r Recorded) String() string {
	what, d, n := layout.Event(r.What), uint32(r.What)>>8, uint32(r.What>>32)
	var b strings.Builder
	if int(what) >= len(eventNames) || eventNames[what].format == "" {
		fmt.Fprintf(&b, "event %d of %d and %d", what, d, n)
	} else {
		e := eventNames[what]
		fmt.Fprintf(&b, e.format, e.args.of(d, n)...)
		if e.args == often && n > 1 {
			fmt.Fprintf(&b, ", %d times in a row", n)
		}
	}
	if s := r.When % (1 << layout.ContextBits); s != 0 {
		fmt.Fprintf(&b, ", context %d", s)
	}
	return b.String()
}

// of returns the arguments of an event's format, from the detail d and the number n of its entry in
// the ring. a says which of the two the format has, and in which order; for a message, d has the
// kind and the size.
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
		return []any{n, layout.Kind(d >> 16), d & 0xffff}
	case kindOnly:
		return []any{layout.Kind(d)}
	}
	return nil
}

// readings has two moments, each by the processor's counter in ticks, and by CLOCK_MONOTONIC in
// nanoseconds. Together they give the length of a tick in nanoseconds.
type readings struct {
	first, firstTime uint64 // when the page was made in which other processes find the recorder
	now, nowTime     uint64 // when the recorder is read
}

// ago returns the time from an event to now. when is that of an entry: the event's tick, shifted
// left by ContextBits, above the number of its context. The shift has lost the tick's highest bits,
// so the difference is computed without them.
func (t *readings) ago(when uint64) time.Duration {
	ticks := (t.now<<layout.ContextBits - when&^(1<<layout.ContextBits-1)) >> layout.ContextBits
	all := t.now - t.first
	if ticks > all || all == 0 {
		return 0 // the event is younger than now
	}
	return time.Duration(float64(ticks) / float64(all) * float64(t.nowTime-t.firstTime))
}

// recorded lists the events of a ring, oldest first. before and after are the counts of the ring's
// events before and after the copy: events that were overwritten in between are left out. So is the
// oldest event if its writer was overwriting it: it then has the latest time.
func (t *readings) recorded(r *ring, before, after uint32) []Recorded {
	n := min(before, layout.RingEvents)
	if made := after - before; before+made > layout.RingEvents { // events made during the copy
		n = min(n, layout.RingEvents-min(made, layout.RingEvents))
	}
	all := make([]Recorded, 0, n)
	for i := before - n; i != before; i++ {
		e := r[i%layout.RingEvents]
		all = append(all, Recorded{t.ago(e.When), e})
	}
	if n == layout.RingEvents && all[0].Ago < all[n-1].Ago {
		all = all[1:]
	}
	return all
}

// mergeByTime merges the proxy thread's events into those of a PE, by time. It leaves out the
// thread's events before the PE's first one. Both lists have the oldest event first.
func mergeByTime(ofPE, ofThread []Recorded) []Recorded {
	if len(ofPE) == 0 {
		return nil
	}
	from := slices.IndexFunc(ofThread, func(r Recorded) bool { return r.Ago <= ofPE[0].Ago })
	if from < 0 {
		return ofPE
	}
	all := append(slices.Clone(ofPE), ofThread[from:]...)
	slices.SortStableFunc(all, func(a, b Recorded) int { return int(b.Ago/time.Nanosecond - a.Ago/time.Nanosecond) })
	return all
}

// latest is the last event of a PE, by which latestFirst sorts.
type latest struct {
	pe   libshmem.PE
	busy bool   // operations on the PE are under way
	when uint64 // the tick of the event
}

// latestFirst returns at most n of the PEs: first the PEs with operations under way, then the
// others, each group sorted by its latest events.
func latestFirst(all []latest, n int) (pes []libshmem.PE) {
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

// Lines formats events as text, one line for each, with its time in milliseconds relative to
// now.
func Lines(all []Recorded) (lines []string) {
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%+12.3f ms  %s", -float64(r.Ago)/1e6, r))
	}
	return lines
}
