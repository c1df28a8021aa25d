package fabric

import "time"

// Pace tells a thread that serves an endpoint, when a Poll has found no completion,
// whether to poll again, to ask for leave to Wait, or to rest.
//
// That a Poll found none says little: one-sided writes of peers leave none, and over
// sockets each Poll moves one of them at most. So the thread asks Arm, and polls on as
// long as that says no. There are providers, though, whose Arm may say no for ever
// (net;ofi_rxm of libfabric 1.17, whose descriptor stays readable), and others that cannot
// tell. With those Pace polls in bursts with rests between, the longer ago the last
// completion is the shorter; peers do not write for long without a message.
//
// The zero value is ready for use. It is not safe for concurrent use.
type Pace struct {
	fruitless int       // polls since the last completion, or since the burst began
	since     time.Time // the first clock that was read behind the last completion; zero: none
}

const (
	// lingering polls follow the last completion before the thread asks for leave to sleep:
	// the next message of a conversation usually is on its way.
	lingering = 16
	// burst is how many polls follow a rest, as long as the last completion is recent.
	burst = 32
	// eager is how long behind the last completion Arm is taken at its word.
	eager = 20 * time.Millisecond
	// Bursts go on for so long behind the last completion; then each rest is followed by one
	// poll. An Arm that says no is right but with one provider, so it is given more.
	recent, recentUntold = time.Second, 100 * time.Millisecond
	// Rest is how long one takes.
	Rest = 500 * time.Microsecond
)

// Found comes when Poll had a completion.
func (p *Pace) Found() { p.fruitless, p.since = 0, time.Time{} }

// Nothing comes when Poll had none, and reports whether to poll again before Arm is asked.
func (p *Pace) Nothing() bool {
	p.fruitless++
	return p.fruitless <= lingering
}

// Refused comes when Arm has said no, and returns how long to rest before the next Poll:
// not at all, but for providers that say no for ever.
func (p *Pace) Refused(now time.Time) time.Duration {
	if p.age(now) < eager {
		p.fruitless = 0
		return 0
	}
	p.rested(now, recent)
	return Rest
}

// Slept comes when a Wait of a provider that cannot tell (without Caps.WaitFD) is over.
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
