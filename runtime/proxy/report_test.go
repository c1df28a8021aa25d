package proxy

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// TestShow: the page of an endpoint shows its state. If NICs have no counts, the one NIC has those
// of the PEs.
func TestShow(t *testing.T) {
	r := newReportRig(t, 3)
	p := &r.first()[2]
	p.Tokens, p.Bytes, p.Charged, p.Acked, p.Parked, p.Early, p.Flushing = 3, 4000, 9, 2, 1, 5, true
	p.Count[layout.Writes], p.Count[layout.WriteBytes], p.Count[layout.Puts], p.Count[layout.MessageBytes] = 2, 8000, 7, 600
	r.first()[1].Count[layout.Reads], r.first()[1].Count[layout.ReadBytes] = 1, 50
	r.engine.registered = mrcache.Counts{Misses: 6}
	r.engine.work[backlog.StreamOut] = backlog.Shown{Ops: 1, Since: statuspage.Now()}
	r.net.strangers = 4
	r.Oversleep()
	s := r.Show()
	count := [layout.Counted]uint64{
		layout.MessageBytes: 600, layout.Puts: 7, layout.Writes: 2, layout.WriteBytes: 8000, layout.MostUnderWay: 3, layout.MostUnacknowledged: 7,
	}
	if want := (EndpointPeer{Count: count, UnderWay: 3, Bytes: 4000, Unacknowledged: 7, Parked: 1, Early: 5, Flushing: true}); len(s.Peers) != 3 || s.Peers[2] != want {
		t.Errorf("peers %+v, want the last as %+v", s.Peers, want)
	}
	if want := (fabric.RailCount{NIC: "card0", Ops: 10, Out: 8600, In: 50}); !slices.Equal(s.NICs, []fabric.RailCount{want}) || !slices.Equal(r.NICs(), s.NICs) {
		t.Errorf("NICs %+v here and %+v for others, want %+v", r.NICs(), s.NICs, want)
	}
	if s.Provider != "none" || s.Domain != "card0" || s.Registered.Misses != 6 || s.Strangers != 4 || s.Overslept != 1 || r.Overslept() != 1 {
		t.Errorf("the endpoint is %+v", s)
	}
	if len(s.Undone) != 1 || s.Undone[0].Stream != backlog.StreamOut || s.Undone[0].Ops != 1 {
		t.Errorf("undone: %+v", s.Undone)
	}
}

// TestRails: the page has the counts of a network that counts for each NIC, as far as there is
// room.
func TestRails(t *testing.T) {
	for _, n := range []int{1, 2, shownNICs, shownNICs + 3} {
		net := new(rails)
		for i := range n {
			net.nics = append(net.nics, fabric.RailCount{NIC: fmt.Sprintf("card%d", i), Ops: uint64(i), Out: 10, In: 20, Lost: 30})
		}
		e := openReportRig(t, new(reportedEngine), net, 1)
		if got, want := e.Show().NICs, net.nics[:min(n, shownNICs)]; !slices.Equal(got, want) || !slices.Equal(e.NICs(), net.nics) {
			t.Errorf("of %d NICs others see %+v, and this process %+v", n, got, e.NICs())
		}
	}
}

// TestPublish: the page is updated some times a second, and not at each call.
func TestPublish(t *testing.T) {
	r := newReportRig(t, 2)
	now := time.Now()
	for i, c := range []struct {
		after time.Duration
		want  uint64
	}{{0, 1}, {showEvery - 1, 1}, {1, 3}, {showEvery / 2, 3}, {showEvery, 5}} {
		now = now.Add(c.after)
		r.engine.registered.Misses = uint64(i + 1)
		if r.Publish(now); r.head.registered.Misses != c.want {
			t.Errorf("look %d: %d registrations are shown, want %d", i, r.head.registered.Misses, c.want)
		}
	}
}

// TestStallTime sets the clock: the time counts from the look that found no room to the last look
// that found none.
func TestStallTime(t *testing.T) {
	e, now := newReportRig(t, 2), time.Now()
	for i, look := range []struct {
		after time.Duration
		stuck bool
		want  time.Duration // in all
	}{
		{0, false, 0},
		{time.Second, false, 0},
		{time.Second, true, 0}, // the start is not known
		{3 * time.Millisecond, true, 3 * time.Millisecond},
		{4 * time.Millisecond, true, 7 * time.Millisecond},
		{time.Second, false, 7 * time.Millisecond},
		{time.Second, true, 7 * time.Millisecond},
		{time.Nanosecond, true, 7*time.Millisecond + time.Nanosecond},
	} {
		now = now.Add(look.after)
		e.CountStall(now, look.stuck)
		if got := e.Stalled(); got != look.want {
			t.Errorf("look %d: stalled for %v, want %v", i, got, look.want)
		}
	}
}

// TestReportCounts: the counters of all contexts are added, a maximum is the largest, and merged
// operations are not counted as messages.
func TestReportCounts(t *testing.T) {
	r := newReportRig(t, 3)
	for i, peers := range r.engine.streams {
		p := &peers[1]
		p.Count[layout.Puts], p.Count[layout.Control], p.Count[layout.Merged], p.Count[layout.MostUnderWay] = 10, 1, 4, uint64(3+i)
	}
	r.context[2].Count[layout.Atomics] = 5
	want := [layout.Counted]uint64{layout.Puts: 20, layout.Control: 2, layout.Merged: 8, layout.MostUnderWay: 4}
	if got := r.CountOf(1); got != want {
		t.Errorf("for PE 1\n%v, want\n%v", got, want)
	}
	want[layout.Atomics] = 5
	if got := r.Count(); got != want {
		t.Errorf("for all\n%v, want\n%v", got, want)
	}
	if got := r.Messages(); got != 20+2+5-8 {
		t.Errorf("%d messages", got)
	}
}

// TestStanding: a PE is remarkable while it owes an answer or operations are under way in any
// context, and otherwise only when a caller asks for it.
func TestStanding(t *testing.T) {
	r := newReportRig(t, 3)
	p := &r.first()[1]
	p.Sent, p.Received, p.Charged, p.Acked = 8, 6, 5, 4
	at := make([]byte, 16)
	binary.NativeEndian.PutUint16(at, 2)
	binary.BigEndian.PutUint16(at[2:], 4711)
	copy(at[4:], []byte{10, 0, 0, 7})
	r.engine.addresses = map[libshmem.PE][]byte{1: at, 2: {0xab, 0xcd}}
	rest := ", 8 messages posted and 6 received, 4 of 5 units completed, at 10.0.0.7:4711 over none on card0"
	check := func(asked bool, want string) {
		t.Helper()
		if got := r.PeerStatus(1, asked); got != want {
			t.Errorf("PE 1 %q, want %q", got, want)
		}
	}
	check(false, "")
	check(true, "has 0 operations of 0 bytes under way"+rest)
	p.Tokens, p.Bytes = 1, 100
	r.context[1].Tokens, r.context[1].Bytes = 2, 50
	check(false, "has 3 operations of 150 bytes under way"+rest)
	p.Tokens, r.context[1].Tokens = 0, 0
	r.Probe(1)
	p.Flushing = true
	check(false, "")
	r.backdate(1, 2*time.Second)
	check(false, "has not answered for 2.0 s"+rest)
	r.NameProvider("some;layer")
	rest = strings.Replace(rest, "none", "some;layer", 1)
	check(false, "has not answered for 2.0 s"+rest)
	p.Flushing = false
	check(false, "")
	r.engine.mute = true
	r.Probe(1)
	check(false, "cannot be asked (the provider has no room for a message to it)"+rest)
	if !r.Silent(1) {
		t.Error("PE 1 is silent, and is not reported so")
	}
	p.Sent++ // so there was room
	check(false, "")
	p.Sent, p.Received = 0, 0
	r.Probe(1)
	check(false, "was never reached (the provider has no room for a first message to it)"+strings.Replace(rest, "8 messages posted and 6", "0 messages posted and 0", 1))
	r.engine.mute = false // it is connected now
	check(false, "")
	if r.Silent(1) {
		t.Error("PE 1 was asked again, and is reported as silent at once")
	}
	if got := r.PeerStatus(2, true); !strings.Contains(got, "at abcd over") {
		t.Errorf("PE 2, whose address is no socket's: %q", got)
	}
	r.engine.mute, r.engine.asked = true, nil
	if r.Probe(2); len(r.probed) != 1 || !slices.Equal(r.engine.asked, []libshmem.PE{2}) {
		t.Errorf("PEs %d were asked, and answers are expected of %v", r.engine.asked, r.probed)
	}
}

// TestSilence: a PE is silent for as long as it owes the reply to the flush of a Probe, and another
// flush does not count.
func TestSilence(t *testing.T) {
	r := newReportRig(t, 2)
	p := &r.first()[1]
	check := func(when string, want time.Duration) {
		t.Helper()
		got, silent := r.silence(1)
		if silent != (want > 0) || silent && got.Truncate(time.Second) != want {
			t.Errorf("%s: %v, silent %v, want %v", when, got, silent, want)
		}
	}
	p.BeginFlush()
	check("a flush of a quiet", 0)
	r.Probe(1)
	r.backdate(1, 2*time.Second)
	check("a Probe that found it", 2*time.Second)
	r.Probe(1)
	check("another Probe during the same flush", 2*time.Second)
	p.EndFlush()
	check("a reply", 0)
	r.engine.mute = true
	r.Probe(1)
	p.Sent++
	p.BeginFlush()
	check("the flush of a quiet after a Probe that was not posted", 0)
	r.engine.mute = false
	r.Probe(1)
	r.backdate(1, time.Second)
	check("a Probe that found that flush", time.Second)
}

// TestSocket: the length of an address shows its family.
func TestSocket(t *testing.T) {
	six := make([]byte, 28)
	binary.NativeEndian.PutUint16(six, 10)
	binary.BigEndian.PutUint16(six[2:], 80)
	six[23] = 1
	four := slices.Clone(six[:16])
	binary.NativeEndian.PutUint16(four, 2)
	r := newReportRig(t, 1)
	for want, a := range map[string][]byte{"[::1]:80": six, "0.0.0.0:80": four, "": six[:16], "invalid AddrPort": nil} {
		r.engine.addresses = map[libshmem.PE][]byte{0: a}
		if at, ok := r.Socket(0); ok != strings.Contains(want, ":80") || ok && at.String() != want {
			t.Errorf("%x is %v, %v, want %s", a, at, ok, want)
		}
	}
}

// TestRefuse: the first dropped message is reported, and then each time that their number has
// doubled. Messages that the network dropped count, too.
func TestRefuse(t *testing.T) {
	r := newReportRig(t, 1)
	r.Refuse("message of %d bytes", 1) // there is no function for reports yet
	var said []string
	r.ReportTo(func(err error) { said = append(said, err.Error()) })
	for n := range 8 {
		r.Refuse("message of %d bytes", n+2)
	}
	want := []string{}
	for _, n := range []int{2, 4, 8} {
		want = append(want, fmt.Sprintf("receive: dropped a message of %d bytes, %d dropped so far (keep strangers off the network of card0)", n, n))
	}
	for _, n := range []uint64{0, 1, 1, 2, 3, 7, 13, 14} {
		r.net.strangers = n
		r.Show()
	}
	for _, n := range []int{1, 2, 7, 14} {
		want = append(want, fmt.Sprintf("poll: refused what came from outside of the job, %d so far (keep strangers off the network of card0)", n))
	}
	if !slices.Equal(said, want) {
		t.Errorf("it said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if got := r.Refused(); got != 9+14 {
		t.Errorf("%d refused", got)
	}
}

// TestActivity: without a function that says what the program does, Activity returns nothing, and
// answers are dropped.
func TestActivity(t *testing.T) {
	r := newReportRig(t, 2)
	if s := r.Activity(); s != "" {
		t.Error(s)
	}
	r.PassActivity(1, "is here")
	heard := ""
	r.OnActivityRequest(func() string { return "waits" }, func(pe libshmem.PE, doing string) { heard = fmt.Sprint(pe, doing) })
	if r.PassActivity(1, "is here"); r.Activity() != "waits" || heard != "1is here" && heard != "1 is here" {
		t.Errorf("it %s, and heard %q", r.Activity(), heard)
	}
}
