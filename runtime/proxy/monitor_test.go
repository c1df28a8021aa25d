package proxy

import (
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/wake"
)

// monitorNetwork is a provider that may have work, and a descriptor to wait on.
type monitorNetwork struct {
	fabric.Provider
	ready bool
	woken int
}

func (n *monitorNetwork) Arm() bool                        { return !n.ready }
func (n *monitorNetwork) Ready() bool                      { return n.ready }
func (n *monitorNetwork) Wait(time.Duration) (bool, error) { return n.ready, nil }
func (n *monitorNetwork) Wake()                            { n.woken++ }
func (n *monitorNetwork) Strangers() uint64                { return 0 }

// monitorBench is an engine without a network.
type monitorBench struct {
	*Engine
	net *monitorNetwork
}

// hold makes the engine hold a batch that has just grown, or none.
func (b *monitorBench) hold(on bool) {
	b.Held = 0
	if on {
		b.Held = 1
		b.bursts.Held++
	}
}

// page is what the report of a bench asks.
type page struct{ reportEngine }

func (page) Registered() (c mrcache.Counts)           { return c }
func (page) forEachPeerTable(func([]layout.Peer))     {}
func (page) fillWork(*[backlog.Streams]backlog.Shown) {}

func openMonitor(t *testing.T) *monitorBench {
	o, inner := newOperations(t, 2, fabric.Caps{WaitFD: true})
	e := &Engine{port: new(port)}
	b := &monitorBench{Engine: e, net: &monitorNetwork{Provider: inner}}
	o.Net.Provider = b.net
	to, err := openReport(page{}, b.net, 2, 1<<12)
	if err != nil {
		t.Fatal(err)
	}
	state := (*layout.State)(to.State())
	peers := make([]layout.Peer, 2)
	r := to.OpenRecorder(state, peers)
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	words := new([5]uint32)
	e.first, e.State, e.ops, e.Report = e, state, *o, to
	e.ops.State, e.ops.Recorder = state, r
	e.Words = wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[2], Sleepers: &words[3], Wakes: &words[4]}
	return b
}

// TestArm lets the thread sleep if nothing is held and the network has no work.
func TestArm(t *testing.T) {
	b := openMonitor(t)
	for _, c := range []struct{ ready, holds, want bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		b.net.ready = c.ready
		b.hold(c.holds)
		if got := b.Arm(); got != c.want || b.ops.Net.Armed != c.want {
			t.Errorf("%+v: %v, armed %v", c, got, b.ops.Net.Armed)
		}
	}
}

// TestCopies looks for a while at streams that have work, and then sleeps.
func TestCopies(t *testing.T) {
	b := openMonitor(t)
	b.State.Busy = layout.BusyStreams
	if b.MarkCopies(); b.State.Busy == 0 {
		t.Error("marked without a GPU")
	}
	b.rma.operations, b.in.Checker = &b.ops, b.ops.Net.Checker()
	stage, err := gpustage.New(b.Host(), nil, gpustage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b.gpu = stage
	if b.MarkCopies(); b.State.Busy != 0 {
		t.Error("streams without work are busy behind a mark")
	}
	b.State.Busy = layout.BusyStreams
	pace := new(fabric.Pace)
	for look := 1; look < pollsBeforeSleep; look++ {
		if step := b.Next(1, pace); step != call.PollAgain {
			t.Fatalf("after %d looks: %v", look, step)
		}
	}
	if step := b.Next(1, pace); step != call.SleepCopying {
		t.Errorf("after %d looks: %v", pollsBeforeSleep, step)
	}
	if step := b.Next(2, pace); step != call.PollAgain {
		t.Errorf("with a completion: %v", step)
	}
}

// TestRouse ends a sleep, and says that the thread is wanted outside of C.
func TestRouse(t *testing.T) {
	b := openMonitor(t)
	if b.Rouse(); b.State.Attention != 1 || b.net.woken != 1 {
		t.Errorf("attention %d, woken %d times", b.State.Attention, b.net.woken)
	}
	if b.ClearAttention(); b.State.Attention != 0 {
		t.Errorf("attention %d", b.State.Attention)
	}
}

// TestOversleepCounted counts a long sleep that ended at its limit, although the network had work.
func TestOversleepCounted(t *testing.T) {
	b := openMonitor(t)
	b.net.ready = true
	for range 3 {
		b.NoteSleepEnd(false, 2*longSleep, time.Now().Add(time.Hour))
		b.NoteSleepEnd(true, 2*longSleep, time.Now().Add(time.Hour))
		b.NoteSleepEnd(false, longSleep/2, time.Now().Add(time.Hour))
	}
	if n := b.Report.Overslept(); n != 3 {
		t.Errorf("overslept %d times, want 3", n)
	}
	b.State.Polls++ // a caller has polled meanwhile
	if b.NoteSleepEnd(false, 2*longSleep, time.Now().Add(time.Hour)); b.Report.Overslept() != 3 {
		t.Error("a caller polled, and the sleep counts")
	}
}
