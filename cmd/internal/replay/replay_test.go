package replay

import (
	"testing"

	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
)

// script is the recorded calls of one PE, with durations in microseconds.
type script struct {
	calls []program.Call
	now   int64
}

func (s *script) call(name string, took float64, peer int, bytes uint64) *script {
	end := s.now + int64(took*1e3)
	s.calls = append(s.calls, program.Call{Name: name, Start: s.now, End: end, Peer: peer, Bytes: bytes, Team: program.World})
	s.now = end
	return s
}

func (s *script) compute(us float64) *script {
	s.now += int64(us * 1e3)
	return s
}

// jobOf makes a job of scripts.
func jobOf(t testing.TB, scripts ...*script) *program.Job {
	t.Helper()
	b := program.NewBuilder(len(scripts), 0)
	for pe, s := range scripts {
		for _, c := range s.calls {
			if err := b.Add(pe, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	j, err := b.Job()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// plain returns a network whose times are round: 10 us, 1 byte each nanosecond, and a processor
// that takes no time.
func plain() Model {
	m, err := Named("tcp")
	if err != nil {
		panic(err)
	}
	m.Latency, m.Bandwidth, m.Header = 10*sim.Microsecond, 8e9, 0
	m.zeroCosts()
	return m
}

func play(t *testing.T, j *program.Job, m Model, hosts int) *Result {
	t.Helper()
	r, err := Run(j, m, Site{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// about fails unless a time is the wanted one, in microseconds, up to a share.
func about(t *testing.T, what string, got sim.Time, want, share float64) {
	t.Helper()
	if us := float64(got) / 1e3; us < want*(1-share) || us > want*(1+share) {
		t.Errorf("%s: %.3f us, want %.3f", what, us, want)
	}
}

// pingpong returns the scripts of n round trips of a put with signal, with that much computation
// before each answer.
func pingpong(n int, us float64) (a, b *script) {
	a, b = new(script), new(script)
	for range n {
		// As on one node: a wait ends 1 us behind the put that it is for.
		a.call("shmem_putmem_signal", 1, 1, 8)
		b.call("shmem_signal_wait_until", float64(a.now-b.now)/1e3+1, -1, 0).compute(us).call("shmem_putmem_signal", 1, 0, 8)
		a.call("shmem_signal_wait_until", float64(b.now-a.now)/1e3+1, -1, 0)
	}
	return a, b
}

// Round trips take the time of the wires and of the computation between.
func TestPingPong(t *testing.T) {
	a, b := pingpong(100, 5)
	j := jobOf(t, a, b)
	about(t, "100 round trips between hosts", play(t, j, plain(), 2).Total, 100*(2*10+5), 0.02)
	about(t, "on one host", play(t, j, plain(), 1).Total, 100*(2*1+5), 0.02)
	m := plain()
	m.Latency = 1 * sim.Microsecond
	about(t, "with a tenth of the latency", play(t, j, m, 2).Total, 100*(2+5), 0.05)
}

// Bytes take the time of the wire, and a blocking get that of a round trip.
func TestBytes(t *testing.T) {
	a := new(script)
	for range 5 {
		a.call("shmem_putmem_nbi", 1, 1, 1<<20)
	}
	a.call("shmem_quiet", 1, -1, 0)
	j := jobOf(t, a, new(script).call("shmem_my_pe", 0, -1, 0))
	about(t, "5 MiB", play(t, j, plain(), 2).Total, 5*1048.6+20, 0.02)
	g := new(script)
	for range 50 {
		g.call("shmem_double_g", 1, 1, 8)
	}
	j = jobOf(t, g, new(script).call("shmem_my_pe", 0, -1, 0))
	about(t, "50 gets", play(t, j, plain(), 2).Total, 50*20, 0.02)
}

// The processor's time bounds small operations.
func TestRate(t *testing.T) {
	a := new(script)
	for range 10_000 {
		a.call("shmem_long_atomic_inc", 0.1, 1, 8)
	}
	a.call("shmem_quiet", 1, -1, 0)
	j := jobOf(t, a, new(script).call("shmem_my_pe", 0, -1, 0))
	m := plain()
	m.Call = 100
	about(t, "10,000 increments of 100 ns", play(t, j, m, 2).Total, 1000+20, 0.05)
}

// A barrier ends when the last PE has come, and the report names it.
func TestLate(t *testing.T) {
	var s []*script
	for pe := range 8 {
		late := 0.0
		if pe == 5 {
			late = 10_000
		}
		s = append(s, new(script).call("shmem_barrier_all", 1, -1, 0).compute(100+late).call("shmem_barrier_all", 1, -1, 0))
	}
	r := play(t, jobOf(t, s...), plain(), 4)
	about(t, "8 PEs", r.Total, 10_100+2*20, 0.01)
	for pe, x := range r.PEs {
		if (pe == 5) != (x.CausedLate > 10*sim.Millisecond) {
			t.Errorf("PE %d: others waited %d ns for it", pe, x.CausedLate)
		}
	}
	if len(r.Phases) != 2 {
		t.Errorf("%d phases", len(r.Phases))
	}
}
