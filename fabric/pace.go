package fabric

import "time"

// Pace decides for a thread that serves an endpoint, after a Poll without completions, whether to
// poll again, to call Arm before a Wait, or to rest.
//
// A Poll without completions may still have moved data: one-sided writes of peers leave no
// completion, and over sockets each Poll moves one of them at most. So the thread calls Arm, and
// polls on as long as Arm returns false. Some providers' Arm may return false for ever (net;ofi_rxm
// of libfabric 1.17, whose descriptor stays readable), and others cannot know. With those Pace
// polls in bursts with rests between, and the bursts get shorter the longer ago the last completion
// is; peers do not write for long without a message.
//
// The zero value is ready for use. It is not safe for concurrent use.
type Pace struct {
	fruitless int       // polls since the last completion, or since the burst began
	since     time.Time // first reading of the clock after the last completion; zero: not read yet
}

const (
	// lingering is the number of polls after the last completion before the thread calls Arm: the
	// next message of a conversation usually is on its way.
	lingering = 16
	// burst is the number of polls after a rest, as long as the last completion is recent.
	burst = 32
	// For as long as eager after the last completion, the thread polls again at once when Arm
	// returns false.
	eager = 20 * time.Millisecond
	// For as long as recent after the last completion, a burst of polls follows each rest; later a
	// single poll does. recentUntold is the same after a Wait of a provider that cannot know. It is
	// shorter, because all providers but one have a reason when Arm returns false.
	recent, recentUntold = time.Second, 100 * time.Millisecond
	// Rest is the length of one rest.
	Rest = 500 * time.Microsecond
)

// NoteWork records that Poll had a completion: the next polls follow without a pause.
func (p *Pace) NoteWork() { p.fruitless, p.since = 0, time.Time{} }

// Nothing records that Poll had none, and reports whether to poll again before Arm is called.
func (p *Pace) Nothing() bool {
	p.fruitless++
	return p.fruitless <= lingering
}

// NoteRefusal records that Arm returned false, and returns how long to rest before the next Poll: 0
// until `eager` has passed since the last completion, and then Rest.
func (p *Pace) NoteRefusal(now time.Time) time.Duration {
	if p.age(now) < eager {
		p.fruitless = 0
		return 0
	}
	p.limitPolls(now, recent)
	return Rest
}

// NoteSleep records that a Wait has returned, of a provider without Caps.WaitFD, which does not
// know whether something has arrived.
func (p *Pace) NoteSleep(now time.Time) { p.limitPolls(now, recentUntold) }

// limitPolls sets, after a rest or a Wait, how many polls may follow before the next call of Arm:
// `burst` polls, or only one if the last completion is older than recent.
func (p *Pace) limitPolls(now time.Time, recent time.Duration) {
	if p.fruitless = lingering; p.age(now) < recent {
		p.fruitless -= burst
	}
}

// age returns the time since the last completion, counted from the first call after it.
func (p *Pace) age(now time.Time) time.Duration {
	if p.since.IsZero() {
		p.since = now
	}
	return now.Sub(p.since)
}
