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
	since     time.Time // first reading of the clock after the last completion; zero: none
}

const (
	// lingering polls follow the last completion before the thread asks to sleep: the next message
	// of a conversation usually is on its way.
	lingering = 16
	// burst is the number of polls after a rest, as long as the last completion is recent.
	burst = 32
	// eager is the time that after the last completion each false of Arm leads to a poll without a
	// rest.
	eager = 20 * time.Millisecond
	// Bursts go on for this long after the last completion; then each rest is followed by one poll.
	// All providers but one have a reason when Arm returns false, so the bursts after that go on
	// for longer.
	recent, recentUntold = time.Second, 100 * time.Millisecond
	// Rest is the length of one rest.
	Rest = 500 * time.Microsecond
)

// Found records that Poll had a completion.
func (p *Pace) Found() { p.fruitless, p.since = 0, time.Time{} }

// Nothing records that Poll had none, and reports whether to poll again before Arm is called.
func (p *Pace) Nothing() bool {
	p.fruitless++
	return p.fruitless <= lingering
}

// Refused records that Arm returned false, and returns how long to rest before the next Poll: not
// at all, but for providers whose Arm never returns true.
func (p *Pace) Refused(now time.Time) time.Duration {
	if p.age(now) < eager {
		p.fruitless = 0
		return 0
	}
	p.rested(now, recent)
	return Rest
}

// Slept records the end of a Wait of a provider that cannot know (without Caps.WaitFD).
func (p *Pace) Slept(now time.Time) { p.rested(now, recentUntold) }

func (p *Pace) rested(now time.Time, recent time.Duration) {
	if p.fruitless = lingering; p.age(now) < recent {
		p.fruitless -= burst
	}
}

func (p *Pace) age(now time.Time) time.Duration {
	if p.since.IsZero() {
		p.since = now
	}
	return now.Sub(p.since)
}
