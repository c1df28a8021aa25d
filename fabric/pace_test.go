package fabric

import (
	"testing"
	"time"
)

// polls counts how many fruitless polls go by until Arm is asked.
func polls(p *Pace) (n int) {
	for n = 1; p.Nothing(); n++ {
	}
	return n
}

// A conversation lingers, and each Arm that refuses is followed by as many polls, without
// a rest as long as the last completion is recent enough.
func TestPaceOfATransfer(t *testing.T) {
	var p Pace
	now := time.Unix(1, 0)
	for range 3 {
		p.NoteWork()
		if n := polls(&p); n != lingering+1 {
			t.Errorf("%d polls before Arm is asked, want %d", n, lingering+1)
		}
		if p.Nothing() {
			t.Error("the polls begin anew without a completion")
		}
	}
	for ; now.Before(time.Unix(1, 0).Add(eager)); now = now.Add(time.Millisecond) {
		if d := p.NoteRefusal(now); d != 0 {
			t.Fatalf("a rest of %v %v behind the last completion", d, now.Sub(time.Unix(1, 0)))
		}
		if n := polls(&p); n != lingering+1 {
			t.Fatalf("%d polls behind an Arm that refused", n)
		}
	}
	if d := p.NoteRefusal(now); d != Rest {
		t.Errorf("no rest, but %v, %v behind the last completion", d, eager)
	}
	if n := polls(&p); n != burst+1 {
		t.Errorf("%d polls behind a rest, want %d", n, burst+1)
	}
	p.NoteWork()
	if d := p.NoteRefusal(now); d != 0 {
		t.Errorf("a rest of %v behind a completion", d)
	}
}

// A provider whose Arm always refuses, and one that cannot know, cost one poll for each rest in the
// end.
func TestPaceOfSilence(t *testing.T) {
	for _, c := range []struct {
		what string
		ask  func(p *Pace, now time.Time)
	}{
		{"Arm always refuses", func(p *Pace, now time.Time) { p.NoteRefusal(now) }},
		{"no descriptor", func(p *Pace, now time.Time) { p.NoteSleep(now) }},
	} {
		var p Pace
		n, begin := 0, time.Unix(1, 0)
		for now := begin; now.Before(begin.Add(10 * time.Second)); now = now.Add(Rest) {
			n += polls(&p)
			c.ask(&p, now)
		}
		most := int(eager/Rest)*(lingering+1) + int(recent/Rest)*(burst+1) + int((10*time.Second-recent)/Rest) + 100
		if n > most {
			t.Errorf("%s: %d polls in 10 s, want at most %d", c.what, n, most)
		}
		if polls(&p) != 1 {
			t.Errorf("%s: more than one poll behind a rest after 10 s", c.what)
		}
	}
}
