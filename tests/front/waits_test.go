package front

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestSleep: threads that fall asleep together, one step at a time.
func TestSleep(t *testing.T) { run(t, "asleep") }

// TestCrowded: where there are more PEs than processors, waits leave the processor to PEs that
// compute, and stay awake for one that is late.
func TestCrowded(t *testing.T) { run(t, "crowded") }

// TestMoving: a thread that shares its processor moves to the one with the fewest PEs.
func TestMoving(t *testing.T) { run(t, "moving") }

// policy is how PEs wait that have a processor each.
type policy struct {
	awake  time.Duration // a wait spins and yields for so long, then sleeps
	shared bool          // one membarrier serves all that fall asleep during the last one
}

// machine is what the policy runs on. The figures are of a virtual machine with 16 processors: once
// PEs slept in each barrier, nearly each barrier had one that took whole milliseconds to wake.
type machine struct {
	pes        int
	barrier    time.Duration // with all PEs awake
	membarrier time.Duration // the kernel makes one at a time
	wake       time.Duration // of a sleeping processor
	slow       float64       // the part of wakes that take up to slowest
	slowest    time.Duration
}

var virtual = machine{
	barrier: time.Microsecond, membarrier: 20 * time.Microsecond, wake: 100 * time.Microsecond,
	slow: .5, slowest: 8 * time.Millisecond,
}

// never ends a search for the good state.
const never = time.Second

// meet returns when each PE leaves a barrier into which it came at the given time.
func (m *machine) meet(p policy, came []time.Duration, random *rand.Rand) (left []time.Duration) {
	release := slices.Max(came) + m.barrier
	// The kernel makes the membarriers of those that fall asleep in the order in which they came.
	order := make([]int, len(came))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(came[a] - came[b]) })
	left = make([]time.Duration, len(came))
	var begun, done time.Duration // of the last membarrier
	for _, pe := range order {
		asleep := came[pe] + p.awake
		if asleep >= release {
			left[pe] = release
			continue
		}
		if !p.shared || asleep > begun {
			begun = max(asleep, done)
			done = begun + m.membarrier
		}
		wake := m.wake
		if random.Float64() < m.slow {
			wake = time.Duration(random.Int64N(int64(m.slowest)))
		}
		left[pe] = max(release, done) + wake
		if done > release { // it was not asleep yet
			left[pe] = done
		}
	}
	return left
}

// recovery returns the time from the arrival of a PE that was late until 20 barriers in a row take
// no longer, on average, than four times the usual, or never.
func (m *machine) recovery(p policy, late time.Duration, seed uint64) time.Duration {
	random := rand.New(rand.NewPCG(seed, uint64(m.pes)))
	came := make([]time.Duration, m.pes)
	came[m.pes-1] = late
	var began []time.Duration
	for {
		came = m.meet(p, came, random)
		began = append(began, slices.Max(came))
		if n := len(began) - 21; n >= 0 && began[n+20]-began[n] <= 20*4*m.barrier {
			return began[n] - late
		}
		if slices.Max(came)-late > never {
			return never
		}
	}
}

// constant reads a number that a file of capi/front defines.
func constant(t *testing.T, file, name string) int {
	source, err := os.ReadFile("../../capi/front/" + file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`#define ` + name + ` (\d+)u?\b`).FindSubmatch(source)
	if m == nil {
		t.Fatalf("%s does not define %s", file, name)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestModel: with the policy of wait.c a node is quick again within 10 ms of the arrival of a late
// PE. With the turns that it counted before, and a membarrier of each sleeper, the PEs of such a
// machine fall asleep in each barrier for as long as one looks.
func TestModel(t *testing.T) {
	t.Parallel()
	now := policy{awake: time.Duration(constant(t, "wait.c", "AWAKE_NS")), shared: true}
	before := policy{awake: 600 * time.Microsecond}
	for _, late := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
		for _, pes := range []int{2, 3, 8, 16, 31, 32, 64} {
			m := virtual
			m.pes = pes
			var longest time.Duration
			held := 0
			for seed := range uint64(50) {
				longest = max(longest, m.recovery(now, late, seed))
				if m.recovery(before, late, seed) == never {
					held++
				}
			}
			if longest > 10*time.Millisecond {
				t.Errorf("%d PEs, one late by %v: quick again after %v", pes, late, longest)
			}
			if pes >= 16 && held < 45 {
				t.Errorf("%d PEs, one late by %v: the model does not show the state that holds itself, but in %d runs of 50", pes, late, held)
			}
		}
	}
}
