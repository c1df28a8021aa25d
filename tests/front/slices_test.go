package front

import (
	"fmt"
	"testing"
	"time"
)

// thread is a PE on a processor that it shares, as the scheduler of Linux 6.18 sees it.
type thread struct {
	vruntime, deadline time.Duration
	slice              time.Duration
	brief              int // quick yields until it has its usual slice again
	epoch              int // the barrier that it is in
}

// processor is one on which each thread yields at each turn of its waits.
type processor struct {
	threads []thread
	usual   time.Duration // the slice that the kernel gives
	quick   int           // yields after which a thread has it again, 0: never
	arrived int
	epoch   int // barriers that all have come to
	now     time.Duration
}

// What a turn takes whose yield lets no other thread run, and one that does (AMD EPYC, Linux 6.18).
// There a barrier of two and three threads took 1.8 and 3.8 us, 6.8 us if one of two had the short
// slices, and 29 us if two of three had. The model gives 1.8, 3.6, 6.4 and 26 us.
const (
	stays    = 700 * time.Nanosecond
	switched = 1800 * time.Nanosecond
)

// eligible threads have run no more than the average.
func (p *processor) eligible(i int) bool {
	var sum time.Duration
	for _, t := range p.threads {
		sum += t.vruntime
	}
	return p.threads[i].vruntime*time.Duration(len(p.threads)) <= sum
}

// pick returns the eligible thread with the earliest deadline.
func (p *processor) pick() int {
	best := -1
	for i, t := range p.threads {
		if p.eligible(i) && (best < 0 || t.deadline < p.threads[best].deadline) {
			best = i
		}
	}
	return best
}

// turn runs thread i up to the end of its yield, and returns the thread that runs next.
func (p *processor) turn(i int) int {
	t := &p.threads[i]
	for t.epoch == p.epoch { // the last one to come goes on to the next barrier
		t.epoch++
		if p.arrived++; p.arrived == len(p.threads) {
			p.arrived = 0
			p.epoch++
		}
	}
	// A thread that yields gives up the rest of its slice.
	t.vruntime = t.deadline
	t.deadline += t.slice
	if t.brief > 0 && p.quick > 0 {
		if t.brief--; t.brief == 0 {
			t.slice = p.usual
		}
	}
	next := p.pick()
	cost := stays
	if next != i {
		cost = switched
	}
	p.now += cost
	p.threads[next].vruntime += cost
	return next
}

// barriers returns when each barrier of the given time was over.
func (p *processor) barriers(until time.Duration) (ends []time.Duration) {
	for i := 0; p.now < until; {
		before := p.epoch
		if i = p.turn(i); p.epoch != before {
			ends = append(ends, p.now)
		}
	}
	return ends
}

// share returns a processor whose threads have the usual slice, or the short one where the bits of
// brief are set.
func share(threads int, usual, short time.Duration, brief, quick int) *processor {
	p := &processor{usual: usual, quick: quick}
	for i := range threads {
		t := thread{slice: usual}
		if brief>>i&1 == 1 {
			t.slice, t.brief = short, quick
		}
		t.deadline = t.slice
		p.threads = append(p.threads, t)
	}
	return p
}

// TestSlices: PEs that share a processor and have slices of different lengths, because some had a
// long yield, are quick again within 10 ms. If a thread kept its short slices, they would not be.
func TestSlices(t *testing.T) {
	t.Parallel()
	const run = 20 * time.Millisecond
	short := time.Duration(constant(t, "processor.c", "SLICE_NS"))
	quick := constant(t, "processor.c", "QUICK_YIELDS")
	for _, usual := range []time.Duration{1400 * time.Microsecond, 2800 * time.Microsecond} {
		for threads := 2; threads <= 4; threads++ {
			// All but one have short slices: the state that was the slowest.
			brief := 1<<(threads-1) - 1
			name := fmt.Sprintf("%d threads, slices of %v", threads, usual)
			good := len(share(threads, usual, short, 0, quick).barriers(run))
			if held := len(share(threads, usual, short, brief, 0).barriers(run)); held*3 > good {
				t.Errorf("%s: the model does not show the state that holds itself: %d barriers, %d if all are the same", name, held, good)
			}
			ends := share(threads, usual, short, brief, quick).barriers(run)
			back := 0
			for back+20 < len(ends) && ends[back+20]-ends[back] > 20*4*run/time.Duration(good) {
				back++
			}
			if back+20 >= len(ends) || ends[back] > 10*time.Millisecond {
				t.Errorf("%s: not quick again within 10 ms of the last long yield", name)
			}
		}
	}
}
