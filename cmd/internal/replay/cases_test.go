package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
)

// everything returns calls of each kind that is replayed, on 6 PEs: values must agree at the end,
// and no PE may wait for ever.
func everything(t *testing.T) *program.Job {
	var all []*script
	for pe := range 6 {
		s, next := new(script), (pe+1)%6
		for _, c := range []struct {
			name  string
			peer  int
			bytes uint64
		}{
			{"shmem_malloc", -1, 100}, {"shmem_barrier_all", -1, 0},
			{"shmem_putmem", next, 3000}, {"shmem_putmem", next, maxData + 1}, {"shmem_ctx_double_put_nbi", next, 100_000}, {"shmem_int_p", next, 4},
			{"shmem_double_iput", next, 800}, {"shmem_getmem", next, 1 << 20}, {"shmem_double_iget", next, 800}, {"shmem_int_get_nbi", next, 4},
			{"shmem_int_atomic_inc", next, 4}, {"shmem_int_atomic_fetch_add", next, 4}, {"shmem_int_atomic_fetch_add_nbi", next, 4},
			{"shmem_ctx_quiet", -1, 0}, {"shmem_quiet", -1, 0}, {"shmem_fence", -1, 0},
			{"shmem_putmem_signal", next, 20_000}, {"shmem_signal_wait_until", -1, 0},
			{"shmem_double_sum_reduce", -1, 8}, {"shmem_double_sum_reduce", -1, 1 << 20}, {"shmem_int_broadcast", 2, 64}, {"shmem_int_broadcast", 2, 1 << 20},
			{"shmem_int_fcollect", -1, 512}, {"shmem_int_collect", -1, 512}, {"shmem_int_alltoall", -1, 70_000}, {"shmem_int_sum_inscan", -1, 4},
			{"shmem_set_lock", -1, 0}, {"shmem_sync_all", -1, 0}, {"shmem_free", -1, 0},
		} {
			s.call(c.name, 1, c.peer, c.bytes)
		}
		all = append(all, s)
	}
	return jobOf(t, all...)
}

// Every kind of call ends on every model and any number of hosts, in the same time each time; what
// is not modelled is named.
func TestEverything(t *testing.T) {
	j := everything(t)
	for _, name := range Names() {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, hosts := range []int{1, 3, 6} {
			r := play(t, j, m, hosts)
			if hosts == 3 {
				if again := play(t, j, m, hosts); r.Total != again.Total || r.Total <= 0 {
					t.Errorf("%s, %d hosts: %d ns, then %d", name, hosts, r.Total, again.Total)
				}
			}
			if r.Released != 0 {
				t.Errorf("%s, %d hosts: %d waits had no end", name, hosts, r.Released)
			}
			if len(r.Kept) != 1 || r.Kept[0].Name != "shmem_set_lock" || r.Kept[0].Calls != 6 {
				t.Errorf("%s, %d hosts: kept %v", name, hosts, r.Kept)
			}
			if out := r.Carried[0][0]; (hosts > 1) != (out > maxData) {
				t.Errorf("%s, %d hosts: the first NIC has sent %d bytes", name, hosts, out)
			}
		}
	}
}

// Where processors copy, a PE that sends while it receives takes twice as long. Wires have both
// directions at once.
func TestCopies(t *testing.T) {
	const bytes = 1 << 20
	send := func(s *script, to int) *script { return s.call("shmem_putmem_signal_nbi", 1, to, bytes) }
	wait := func(s *script) *script { return s.call("shmem_signal_wait_until", 100, -1, 0) }
	one := jobOf(t, send(new(script), 1), wait(new(script)))
	both := jobOf(t, wait(send(new(script), 1)), wait(send(new(script), 0)))
	get := jobOf(t, new(script).call("shmem_getmem", 1, 1, bytes), new(script).call("shmem_my_pe", 0, -1, 0))
	wire, copies := plain(), plain()
	copies.Model.Bandwidth, copies.Byte = 0, 1
	for _, c := range []struct {
		name string
		job  *program.Job
		m    Model
		want float64 // times that the bytes take
	}{
		{"one way by wire", one, wire, 1}, {"both ways by wire", both, wire, 1}, {"a get by wire", get, wire, 1},
		{"one way by copies", one, copies, 1}, {"both ways by copies", both, copies, 2}, {"a get by copies", get, copies, 1},
	} {
		if got := float64(play(t, c.job, c.m, 2).Total) / bytes; math.Abs(got-c.want) > 0.1 {
			t.Errorf("%s: %.2f times as long as its bytes take, not %g", c.name, got, c.want)
		}
	}
}

// A strided get has 32 operations under way until the last: it waits for the oldest, as the library
// does, and not for all of them.
func TestStridedGet(t *testing.T) {
	m := plain()
	m.Call = 500
	j := jobOf(t, new(script).call("shmem_double_iget", 1, 1, 8*320), new(script).call("shmem_my_pe", 0, -1, 0))
	about(t, "320 gets of 8 bytes, 32 at a time", play(t, j, m, 2).Total, 10*20.5, 0.1)
}

// Threads of a PE make collectives in turn. Where the network makes the first one longer than the
// time that the other thread computes, its collective still begins behind it, as at the other PE.
func TestCollectivesOfThreads(t *testing.T) {
	one, two := new(script), new(script)
	for _, s := range []*script{one, two} {
		for range 4 {
			s.call("shmem_sync_all", 1, -1, 0).compute(10).call("shmem_double_sum_reduce", 1, -1, 1<<20).compute(10)
		}
	}
	want := play(t, jobOf(t, one, two), plain(), 2)
	for i := range one.calls {
		one.calls[i].Thread = int64(i % 2)
	}
	got := play(t, jobOf(t, one, two), plain(), 2)
	about(t, "four reductions by one thread, and the syncs between them by another", got.Total, float64(want.Total)/1e3, 0.02)
}

// Time without a processor is left out, but where threads share processors in the replay.
func TestStolen(t *testing.T) {
	s := []*script{new(script), new(script)}
	for _, one := range s {
		one.compute(100).call("shmem_barrier_all", 1, -1, 0).compute(1000).call("shmem_barrier_all", 1, -1, 0)
		one.calls[1].Stolen = 400_000
	}
	j := jobOf(t, s...)
	for processors, want := range map[int]float64{0: 600, 1: 1000, 2: 600} {
		r, err := Run(j, plain(), Site{Hosts: 1, Processors: processors})
		if err != nil {
			t.Fatal(err)
		}
		about(t, fmt.Sprintf("with %d processors for 2 PEs", processors), r.Total, want, 0.01)
		about(t, "and they compute", r.PEs[0].Computed, want, 0.01)
	}
}

// The bound of a program that has one bound is found, and its figure is right.
func TestBottleneck(t *testing.T) {
	a, b := pingpong(200, 0)
	inc, bulk, idle := new(script), new(script), new(script).call("shmem_my_pe", 0, -1, 0)
	for range 5000 {
		inc.call("shmem_long_atomic_inc", 0.1, 1, 8)
	}
	for range 10 {
		bulk.call("shmem_putmem_nbi", 1, 1, 1<<20)
	}
	inc.call("shmem_quiet", 1, -1, 0)
	bulk.call("shmem_quiet", 1, -1, 0)
	work := []*script{new(script), new(script)}
	late := []*script{new(script), new(script), new(script), new(script)}
	for range 20 {
		for _, s := range work {
			s.compute(1000).call("shmem_barrier_all", 1, -1, 0)
		}
		for pe, s := range late {
			if s.compute(10); pe == 2 {
				s.compute(1000)
			}
			s.call("shmem_barrier_all", 1, -1, 0)
		}
	}
	m := plain()
	m.Call = 200
	for _, c := range []struct {
		what string
		job  *program.Job
		want Cause
		us   float64 // of its share
	}{
		{"round trips", jobOf(t, a, b), Latency, 200 * 20},
		{"increments", jobOf(t, inc, idle), Processing, 5000 * 0.17},
		{"bulk", jobOf(t, bulk, idle), Bandwidth, 10 * 1048.6},
		{"computation", jobOf(t, work...), Computation, 20 * 1000},
		{"a late PE", jobOf(t, late...), Lateness, 20 * 1000 * 0.75},
	} {
		x, err := Explain(c.job, m, Site{Hosts: 2})
		if err != nil {
			t.Fatal(err)
		}
		if x.Bottleneck() != c.want {
			t.Errorf("%s: cause %d, want %d (%v)", c.what, x.Bottleneck(), c.want, x.Costs)
		}
		about(t, c.what, x.Costs[c.want], c.us, 0.1)
		if c.want == Lateness && x.Late != 2 {
			t.Errorf("%s: PE %d is late", c.what, x.Late)
		}
	}
}

// PEs that post to each other all the time share messages, because their proxies rest: a hundred
// operations go in one. The answers to full batches are the other messages.
func TestBursts(t *testing.T) {
	var all []*script
	for pe := range 2 {
		s := new(script)
		for range 5000 {
			s.call("shmem_long_atomic_xor", 0.05, 1-pe, 8).compute(0.3)
		}
		all = append(all, s.call("shmem_quiet", 1, -1, 0))
	}
	m, err := Named("tcp")
	if err != nil {
		t.Fatal(err)
	}
	m.Message, m.Completed = 3*sim.Microsecond, 3*sim.Microsecond
	if r := play(t, jobOf(t, all...), m, 2); r.Operations < 50 || r.Operations > 400 {
		t.Errorf("10,000 operations went in %d messages", r.Operations)
	}
}

// Two NICs carry what two PEs send in half the time of one.
func TestNICs(t *testing.T) {
	var all []*script
	for pe := range 4 {
		s := new(script)
		for range 10 {
			if s.call("shmem_my_pe", 0, -1, 0); pe < 2 {
				s.call("shmem_putmem_nbi", 1, pe+2, 1<<20)
			}
		}
		all = append(all, s.call("shmem_quiet", 1, -1, 0))
	}
	j := jobOf(t, all...)
	one, err := Run(j, plain(), Site{Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Run(j, plain(), Site{Hosts: 2, NICs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(one.Total) / float64(two.Total); math.Abs(ratio-2) > 0.1 {
		t.Errorf("one NIC takes %.2f times as long as two", ratio)
	}
}

// Calls that do not belong together do not hang the replay: it names the PE and the call.
func TestStandstill(t *testing.T) {
	j := jobOf(t, new(script).call("shmem_barrier_all", 1, -1, 0), new(script).call("shmem_quiet", 1, -1, 0))
	_, err := Run(j, plain(), Site{Hosts: 2})
	if err == nil || !strings.Contains(err.Error(), "PE 0 waits forever in its call 1, shmem_barrier_all") {
		t.Errorf("a barrier of one PE: %v", err)
	}
}

// A wait that the recording cannot explain ends when nothing else goes on, and is counted. The
// clock of PE 1 is late: a put behind the barrier seems to have begun before PE 1 came there.
func TestReleased(t *testing.T) {
	zero := new(script).call("shmem_barrier_all", 10, -1, 0).call("shmem_putmem_signal", 1, 1, 8).call("shmem_barrier_all", 90, -1, 0)
	one := new(script).compute(95).call("shmem_signal_wait_until", 5, -1, 0).call("shmem_barrier_all", 10, -1, 0).call("shmem_barrier_all", 1, -1, 0)
	if r := play(t, jobOf(t, zero, one), plain(), 2); r.Released != 1 {
		t.Errorf("%d waits were released", r.Released)
	}
}

// A PE whose init ends late comes late to the first barrier.
func TestLateStart(t *testing.T) {
	b := program.NewBuilder(2, 0)
	for pe := range 2 {
		at := int64(pe) * 5_000_000
		for _, c := range []program.Call{
			{Name: "shmem_init", Start: 0, End: at + 1000},
			{Name: "shmem_barrier_all", Start: at + 2000, End: at + 3000, Team: program.World},
			{Name: "shmem_finalize", Start: 6_000_000, End: 6_000_000},
		} {
			if err := b.Add(pe, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	j, err := b.Job()
	if err != nil {
		t.Fatal(err)
	}
	r := play(t, j, plain(), 2)
	if want := 5001*sim.Microsecond + 10*sim.Microsecond; r.Phases[0].Predicted < want || r.Phases[0].Predicted > want+2*sim.Microsecond {
		t.Errorf("the barrier ends at %d ns", r.Phases[0].Predicted)
	}
}

// Without a processor to spare, a PE that computes loses the time in which its proxy serves others.
func TestCrowded(t *testing.T) {
	a := new(script)
	for range 1000 {
		a.call("shmem_putmem", 0.1, 1, 2000) // too long to share messages
	}
	a.call("shmem_quiet", 1, -1, 0)
	j := jobOf(t, a, new(script).call("shmem_my_pe", 0, -1, 0).compute(20_000).call("shmem_my_pe", 0, -1, 0))
	m := plain()
	m.Completed = 2 * sim.Microsecond
	for processors, want := range []float64{20_000, 22_000, 20_000} {
		r, err := Run(j, m, Site{Hosts: 2, Processors: processors})
		if err != nil {
			t.Fatal(err)
		}
		about(t, "a PE that computes for 20 ms", r.PEs[1].Predicted, want, 0.01)
	}
}

// Operations without bytes come to their ends, too, and their signals arrive.
func TestEmpty(t *testing.T) {
	a := new(script).call("shmem_putmem", 1, 1, 0).call("shmem_putmem_nbi", 1, 1, 0).call("shmem_getmem", 1, 1, 0)
	a.call("shmem_putmem_signal", 1, 1, 0).call("shmem_quiet", 1, -1, 0).call("shmem_int_alltoall", 1, -1, 0).call("shmem_int_sum_reduce", 1, -1, 0)
	b := new(script).call("shmem_signal_wait_until", 10, -1, 0).call("shmem_int_alltoall", 1, -1, 0).call("shmem_int_sum_reduce", 1, -1, 0)
	j := jobOf(t, a, b)
	for _, name := range Names() {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if r := play(t, j, m, 2); r.Released != 0 || r.Total <= 0 {
			t.Errorf("%s: %d ns, %d released", name, r.Total, r.Released)
		}
	}
	m := plain()
	if r := play(t, j, m, 1); r.Released != 0 {
		t.Errorf("on one host %d waits were released", r.Released)
	}
}
