package program

import (
	"reflect"
	"strings"
	"testing"
)

// add adds calls of a PE: name, thread, start, end, peer, bytes.
func add(t *testing.T, b *Builder, pe int, name string, thread, start, end int64, peer int, bytes uint64) {
	t.Helper()
	if err := b.Add(pe, Call{Name: name, Thread: thread, Start: start, End: end, Peer: peer, Bytes: bytes, Team: World}); err != nil {
		t.Fatal(err)
	}
}

func job(t *testing.T, b *Builder) *Job {
	t.Helper()
	j, err := b.Job()
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Time between calls is computation, less the recorder's cost; init and finalize bound the program,
// and calls inside of others do not count. The same holds before the clock's zero.
func TestGaps(t *testing.T) {
	for _, zero := range []int64{0, -2500, -10_000} {
		b := NewBuilder(1, 10)
		call := func(name string, start, end int64) { add(t, b, 0, name, 1, zero+start, zero+end, -1, 0) }
		call("shmem_init", 0, 1000)
		call("shmem_quiet", 1500, 2000)
		call("shmem_barrier_all", 2005, 3000)
		call("shmem_sync_all", 2500, 2900)
		call("shmem_fence", 4000, 4000)
		call("shmem_finalize", 5000, 9000)
		j := job(t, b)
		var gaps []int64
		for _, o := range j.Threads[0].Ops {
			gaps = append(gaps, o.Gap)
		}
		if want := []int64{490, 0, 990}; !reflect.DeepEqual(gaps, want) {
			t.Errorf("from %d on: gaps %v, want %v", zero, gaps, want)
		}
		if j.Recorded() != 4000 {
			t.Errorf("from %d on: the program took %d", zero, j.Recorded())
		}
	}
}

// A call of more messages than a replay can simulate is refused.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes uint64
		fails bool
	}{
		{"shmem_putmem", 1 << 36, false}, {"shmem_putmem", 1<<36 + 1, true}, {"shmem_broadcastmem", 1 << 62, true},
		{"shmem_int_iput", 4 << 20, false}, {"shmem_int_iput", 4<<20 + 4, true},
	} {
		err := NewBuilder(1, 0).Add(0, Call{Name: c.name, Peer: 0, Bytes: c.bytes, Team: World})
		if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "more than a replay simulates") {
			t.Errorf("%s of %d bytes: %v", c.name, c.bytes, err)
		}
	}
}

// A thread does not compute while it has no processor, and has not lost more than the time that has
// passed.
func TestStolen(t *testing.T) {
	b := NewBuilder(1, 10)
	for _, c := range []Call{
		{Name: "shmem_init", Thread: 1, End: 1000}, {Name: "shmem_quiet", Thread: 1, Start: 1500, End: 2000, Stolen: 200},
		{Name: "shmem_fence", Thread: 1, Start: 2100, End: 2100, Stolen: 1000}, {Name: "shmem_fence", Thread: 1, Start: 2105, End: 2105, Stolen: 7},
		{Name: "shmem_quiet", Thread: 2, Start: 2200, End: 2800}, {Name: "shmem_fence", Thread: 1, Start: 3000, End: 3000, Stolen: 100},
	} {
		c.Peer, c.Team = -1, World
		if err := b.Add(0, c); err != nil {
			t.Fatal(err)
		}
	}
	var got [][2]int64
	for _, o := range job(t, b).Threads[0].Ops {
		got = append(got, [2]int64{o.Gap, o.Stolen})
	}
	if want := [][2]int64{{290, 200}, {0, 90}, {0, 0}, {90, 100}}; !reflect.DeepEqual(got, want) {
		t.Errorf("computed and lost %v, want %v", got, want)
	}
}

// A thread begins behind the call that its PE had made last, and the first thread waits for it.
func TestThreads(t *testing.T) {
	b := NewBuilder(1, 0)
	add(t, b, 0, "shmem_init", 1, 0, 100, -1, 0)
	add(t, b, 0, "shmem_barrier_all", 1, 200, 300, -1, 0)
	add(t, b, 0, "shmem_quiet", 2, 400, 500, -1, 0)
	add(t, b, 0, "shmem_quiet", 2, 600, 900, -1, 0)
	add(t, b, 0, "shmem_barrier_all", 1, 950, 1000, -1, 0)
	j := job(t, b)
	main, other := j.Threads[0], j.Threads[1]
	if o := other.Ops[0]; o.Gap != 100 || !reflect.DeepEqual(o.After, []Ref{{0, 0}}) {
		t.Errorf("the second thread begins %d ns behind %v", o.Gap, o.After)
	}
	if o := main.Ops[1]; o.Gap != 50 || !reflect.DeepEqual(o.After, []Ref{{1, 1}}) {
		t.Errorf("the first thread goes on %d ns behind %v", o.Gap, o.After)
	}
}

// Threads of a PE share the order of its collectives: each begins behind the one before it, and the
// calls of all members belong together by that order.
func TestCollectivesOfThreads(t *testing.T) {
	b := NewBuilder(2, 0)
	for _, c := range []struct {
		pe                 int
		name               string
		thread, start, end int64
	}{
		{0, "shmem_malloc", 1, 0, 10}, {0, "shmem_malloc", 2, 20, 70}, {0, "shmem_malloc", 1, 80, 180}, {0, "shmem_barrier_all", 1, 200, 210},
		{1, "shmem_malloc", 1, 0, 20}, {1, "shmem_malloc", 1, 20, 120}, {1, "shmem_malloc", 1, 120, 320}, {1, "shmem_barrier_all", 1, 400, 410},
	} {
		add(t, b, c.pe, c.name, c.thread, c.start, c.end, -1, 8)
	}
	j := job(t, b)
	want := [][]struct {
		work   int64
		behind []Ref
	}{
		{{10, nil}, {100, []Ref{{1, 0}}}, {0, nil}},
		{{50, []Ref{{0, 0}}}},
		{{10, nil}, {50, nil}, {100, nil}, {0, nil}},
	}
	for i, th := range j.Threads {
		for k, o := range th.Ops {
			if w := want[i][k]; o.Work != w.work || !reflect.DeepEqual(o.Behind, w.behind) {
				t.Errorf("thread %d, call %d: work %d behind %v, want %d behind %v", i, k, o.Work, o.Behind, w.work, w.behind)
			}
		}
	}
}

// needs returns the needs of the waits of a thread.
func needs(th *Thread) [][]Need {
	var all [][]Need
	for _, o := range th.Ops {
		if o.Kind == Wait {
			all = append(all, o.Needs)
		}
	}
	return all
}

// A wait needs the last flag of each other thread that had begun when it ended: not data, not a
// later flag, and no flag twice.
func TestMatch(t *testing.T) {
	b := NewBuilder(3, 0)
	add(t, b, 0, "shmem_putmem", 1, 10, 20, 2, 4096)
	add(t, b, 0, "shmem_long_atomic_inc", 1, 30, 40, 2, 8)
	add(t, b, 0, "shmem_putmem", 1, 45, 48, 2, 4096)
	add(t, b, 0, "shmem_long_atomic_inc", 1, 90, 95, 2, 8)
	add(t, b, 1, "shmem_putmem", 1, 20, 60, 2, 1<<20)
	add(t, b, 2, "shmem_long_wait_until", 1, 0, 50, -1, 0)
	add(t, b, 2, "shmem_long_wait_until", 1, 60, 61, -1, 0)
	add(t, b, 2, "shmem_long_wait_until", 1, 62, 100, -1, 0)
	j := job(t, b)
	want := [][]Need{{{Ref{0, 1}, 2}, {Ref{1, 0}, 1}}, nil, {{Ref{0, 3}, 4}}}
	if got := needs(j.Threads[2]); !reflect.DeepEqual(got, want) {
		t.Errorf("needs %v, want %v", got, want)
	}
	for k, flagged := range []bool{false, true, false, true} {
		if j.Threads[0].Ops[k].Flagged != flagged {
			t.Errorf("update %d of PE 0: flagged %v", k, !flagged)
		}
	}
}

// A wait for a signal looks at signals before flags, though a flag came later.
func TestMatchSignals(t *testing.T) {
	b := NewBuilder(2, 0)
	add(t, b, 0, "shmem_putmem_signal", 1, 10, 20, 1, 64)
	add(t, b, 0, "shmem_int_p", 1, 30, 40, 1, 4)
	add(t, b, 1, "shmem_signal_wait_until", 1, 0, 50, -1, 0)
	add(t, b, 1, "shmem_int_wait_until", 1, 51, 55, -1, 0)
	want := [][]Need{{{Ref{0, 0}, 1}}, {{Ref{0, 1}, 2}}}
	if got := needs(job(t, b).Threads[1]); !reflect.DeepEqual(got, want) {
		t.Errorf("needs %v, want %v", got, want)
	}
}

// Clearing memory takes its time in the replay, too: that of the member that waited for no other.
func TestWork(t *testing.T) {
	b := NewBuilder(2, 0)
	add(t, b, 0, "shmem_calloc", 1, 0, 5000, -1, 1<<20)
	add(t, b, 1, "shmem_calloc", 1, 4000, 5000, -1, 1<<20)
	for pe, th := range job(t, b).Threads {
		if got := th.Ops[0].Work; got != 1000 {
			t.Errorf("PE %d works for %d ns", pe, got)
		}
	}
}

func TestTeams(t *testing.T) {
	b := NewBuilder(4, 0)
	b.SetMembers(77, []int{3, 1})
	for _, pe := range []int{1, 3, 0, 2} {
		c := Call{Name: "shmem_team_sync", Thread: 1, End: 1, Peer: -1, Team: 77}
		if pe%2 == 0 {
			c.Team = 5
		}
		if err := b.Add(pe, c); err != nil {
			t.Fatal(err)
		}
	}
	j := job(t, b)
	if want := [][]int{{0, 1, 2, 3}, {1, 3}, {0, 2}}; !reflect.DeepEqual(j.Teams, want) {
		t.Errorf("teams %v, want %v", j.Teams, want)
	}
	if len(j.Guessed) != 1 || !strings.Contains(j.Guessed[0], "team 5") {
		t.Errorf("guessed: %q", j.Guessed)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		pe   int
		call Call
		want string
	}{
		{7, Call{Name: "shmem_quiet"}, "a call of PE 7, in a job of 2 PEs"},
		{0, Call{Name: "shmem_putmem", Peer: 2}, "its target is PE 2"},
		{0, Call{Name: "shmem_putmem", Peer: -1}, "its target is PE -1"},
		{0, Call{Name: "shmem_quiet", Start: 5, End: 4}, "ends before it begins"},
	} {
		if err := NewBuilder(2, 0).Add(c.pe, c.call); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.call, err, c.want)
		}
	}
	b := NewBuilder(2, 0)
	add(t, b, 0, "shmem_quiet", 1, 0, 1, -1, 0)
	if _, err := b.Job(); err == nil || !strings.Contains(err.Error(), "PE 1 has no call") {
		t.Errorf("a PE without calls: %v", err)
	}
	b = NewBuilder(2, 0)
	b.SetMembers(9, []int{1})
	for pe := range 2 {
		if err := b.Add(pe, Call{Name: "shmem_team_sync", Team: 9}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Job(); err == nil || !strings.Contains(err.Error(), "of which it is not a member") {
		t.Errorf("a stranger in a team: %v", err)
	}
}
