package proxy

import (
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/wake"
)

// network is a provider that may have work, and a descriptor to wait on.
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

// bench is a Monitor with an engine that says what the test wants.
type monitorBench struct {
	Monitor
	net    *monitorNetwork
	stuck  bool
	holds  bool
	looks  int
	marked int
}

func (b *monitorBench) NoRoom() bool { return b.stuck }
func (b *monitorBench) Holds() bool  { return b.holds }
func (b *monitorBench) Looks() int   { return b.looks }
func (b *monitorBench) Mark()        { b.marked++ }

// page is what the report of a bench asks.
type page struct{ reportEngine }

func (page) Registered() (c mrcache.Counts)           { return c }
func (page) EachContext(func([]layout.Peer))          {}
func (page) ShowWork(*[backlog.Streams]backlog.Shown) {}

func openMonitor(t *testing.T) *monitorBench {
	o, inner := newOperations(t, 2, fabric.Caps{WaitFD: true})
	b := &monitorBench{net: &monitorNetwork{Provider: inner}}
	o.Net.Provider = b.net
	to, err := openReport(page{}, b.net, 2, 1<<12)
	if err != nil {
		t.Fatal(err)
	}
	state := (*layout.State)(to.State())
	peers := make([]layout.Peer, 2)
	r := to.Record(state, peers)
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	words := new([5]uint32)
	b.Monitor = newMonitor(wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[2], Sleepers: &words[3], Wakes: &words[4]}, b)
	b.Open(state, o.Net, &r, to)
	return b
}

// TestArm lets the thread sleep if nothing is held and the network has no work.
func TestArm(t *testing.T) {
	b := openMonitor(t)
	for _, c := range []struct{ ready, holds, want bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		b.net.ready, b.holds = c.ready, c.holds
		if got := b.Arm(); got != c.want || b.Monitor.net.Armed != c.want {
			t.Errorf("%+v: %v, armed %v", c, got, b.Monitor.net.Armed)
		}
	}
}

// TestCopies looks for a while at streams that have work, and then sleeps.
func TestCopies(t *testing.T) {
	b := openMonitor(t)
	b.MarkCopies()
	b.Watch(b)
	b.MarkCopies()
	b.state.Busy = layout.BusyCopies
	pace := new(fabric.Pace)
	b.looks = 1
	if step := b.Next(1, pace); step != call.PollAgain {
		t.Errorf("after one look: %v", step)
	}
	b.looks = looksAwake
	if step := b.Next(1, pace); step != call.SleepCopying {
		t.Errorf("after %d looks: %v", looksAwake, step)
	}
	if step := b.Next(2, pace); step != call.PollAgain {
		t.Errorf("with a completion: %v", step)
	}
	if b.marked != 1 {
		t.Errorf("marked %d times", b.marked)
	}
}

// TestRouse ends a sleep, and says that the thread is wanted outside of C.
func TestRouse(t *testing.T) {
	b := openMonitor(t)
	if b.Rouse(); b.state.Attention != 1 || b.net.woken != 1 {
		t.Errorf("attention %d, woken %d times", b.state.Attention, b.net.woken)
	}
	if b.ClearAttention(); b.state.Attention != 0 {
		t.Errorf("attention %d", b.state.Attention)
	}
}

// TestOverslept counts a long sleep that ended at its limit, although the network had work.
func TestOversleepCounted(t *testing.T) {
	b := openMonitor(t)
	b.net.ready = true
	for range 3 {
		b.SleepEnded(false, 2*LongSleep, time.Now().Add(time.Hour))
		b.SleepEnded(true, 2*LongSleep, time.Now().Add(time.Hour))
		b.SleepEnded(false, LongSleep/2, time.Now().Add(time.Hour))
	}
	if n := b.report.Overslept(); n != 3 {
		t.Errorf("overslept %d times, want 3", n)
	}
	b.state.Polls++ // a caller has polled meanwhile
	if b.SleepEnded(false, 2*LongSleep, time.Now().Add(time.Hour)); b.report.Overslept() != 3 {
		t.Error("a caller polled, and the sleep counts")
	}
}
