package proxy

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
	"libshmem/tests/part"
)

var (
	simOps = flag.Int("sim.ops", need.Load("operations"), "operations of the random programs on simulated networks, all models together")
	// 1000 take half a minute and 400 MiB.
	simSenders = flag.Int("sim.senders", need.Load("senders"), "PEs that send to one in TestSimPressure")
	simSeed    = flag.Uint64("sim.seed", 0, "run this seed only")
	simModel   = flag.String("sim.model", "", "on this network only, for example worst,reorder=0.9")
	simPart    = part.Flag("sim.part", "each with seeds and paths of its own")
)

// perSeed is the length of one program. A seed of three PEs runs in a fraction of
// a second, so that one that fails can be watched.
const perSeed = 1500

// runSimPrograms runs one seed, checks memory whenever it may have changed, and returns how many
// operations there were.
func runSimPrograms(w *world, fences bool) int { return runProgramsOf(w, fences, false) }

func runProgramsOf(w *world, fences, notifies bool) int {
	var programs []*simProgram
	for _, p := range w.pes {
		for context := range 1 + w.others {
			g := newProgramOn(w, p, context, perSeed/(1+w.others))
			g.fences, g.notifies = fences, notifies
			programs = append(programs, g)
		}
	}
	look := func() {
		for target, dirty := range w.dirty {
			if !dirty {
				continue
			}
			w.dirty[target] = false
			for _, g := range programs {
				if s := g.to[target]; s != nil && len(s.effects) > 0 {
					s.check(w)
				}
			}
		}
	}
	running, ops := len(programs), 0
	w.until("end of the programs", func() bool {
		look()
		for range 2 {
			g := programs[w.rng.IntN(len(programs))]
			if g.step == nil && g.left >= 0 {
				g.next()
			}
			if g.step != nil && g.step() {
				if g.step = nil; g.left < 0 {
					running--
				}
			}
			look()
		}
		return running == 0
	})
	var want, got uint64
	for _, g := range programs {
		ops += g.done
		want += g.count
	}
	for _, p := range w.pes {
		for word := range 8 {
			got += binary.NativeEndian.Uint64(p.heap[8*word:])
		}
	}
	if want != got {
		w.fail("the counters add up to %d, want %d", got, want)
	}
	return ops
}

// vary makes another network for each seed: most mistakes show on one of a few sizes. A failure
// prints the resulting network.
func vary(m sim.Model, seed uint64) sim.Model {
	if *simModel != "" {
		return m
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	if rng.IntN(2) == 0 {
		m.MTU = []int{64, 256, 2000}[rng.IntN(3)]
	}
	if rng.IntN(2) == 0 {
		m.Depth = []int{2, 8, 40}[rng.IntN(3)]
	}
	if rng.IntN(2) == 0 {
		m.Delay = []sim.Time{500, 5 * sim.Microsecond, 500 * sim.Microsecond}[rng.IntN(3)]
	}
	if rng.IntN(3) == 0 {
		m.Bandwidth = []uint64{1e9, 0}[rng.IntN(2)]
	}
	if rng.IntN(4) == 0 {
		m.Caps.Data = 0
	}
	if m.Caps.Data > 0 {
		m.Caps.Source, m.Caps.DataTakesRecv = rng.IntN(2) == 0, rng.IntN(3) == 0
	}
	m.Caps.Fence = rng.IntN(2) == 0
	if m.Caps.DeliveryComplete && rng.IntN(4) == 0 {
		m.Caps.DeliveryComplete = false
	}
	return sockets(m, seed)
}

// runSeed runs a program for a model and a seed.
func runSeed(t testing.TB, m sim.Model, seed uint64, fences bool, mem *memories) (ops int, trace uint64) {
	ops, trace, _ = runSeedCounted(t, m, seed, fences, mem)
	return ops, trace
}

// orderedPuts counts what kept the order in a program.
type orderedPuts struct {
	numbered   uint64 // writes with a number
	streamless uint64 // PEs that got no sequence stream
	waited     uint64 // operations that waited at their sender
	held       uint64 // messages that waited at their target for writes
	merged     uint64 // operations that shared a message
	slept      uint64 // times that a PE went to sleep
	notified   uint64 // notifications that came with a write
}

func (o *orderedPuts) add(p orderedPuts) {
	o.numbered, o.streamless, o.waited, o.held = o.numbered+p.numbered, o.streamless+p.streamless, o.waited+p.waited, o.held+p.held
	o.merged, o.slept, o.notified = o.merged+p.merged, o.slept+p.slept, o.notified+p.notified
}

func runSeedCounted(t testing.TB, m sim.Model, seed uint64, fences bool, mem *memories) (ops int, trace uint64, o orderedPuts) {
	n := 2 + int(seed%3)
	w := newWorld(t, vary(m, seed), seed, n, heapSize(n), mem)
	if seed%2 == 0 {
		for _, a := range w.pes {
			for b := range w.pes {
				a.nearWrap(b)
			}
		}
	}
	ops = runSimPrograms(w, fences)
	for _, p := range w.pes {
		o.add(orderedPuts{p.Report.Count()[layout.Numbered], p.streamless(), p.Report.Count()[layout.Waited], p.Report.Count()[layout.Held], p.Report.Count()[layout.Merged], 0, p.Report.Count()[layout.Notified]})
	}
	o.slept += w.slept
	w.close(mem)
	return ops, w.net.Trace(), o
}

// simModels returns the networks of the random programs: each model as it is, at its worst, and all
// combinations of the orders that a provider may promise.
func simModels(t testing.TB) []sim.Model {
	if *simModel != "" {
		m, _, err := sim.Parse(*simModel)
		if err != nil {
			t.Fatal(err)
		}
		return []sim.Model{m}
	}
	models := sim.Models()
	for _, m := range []sim.Model{sim.TCP(), sim.Verbs(), sim.EFA(), sim.EFADirect()} {
		models = append(models, sim.Rough(m))
	}
	models = append(models, writesInOrder())
	return append(models, railModels()...)
}

// writesInOrder returns a network that keeps the order of writes, but not that of messages behind
// them, and has no fence. There a message is kept behind a write from before a fence only by the
// number that it follows, if there is a write from behind the fence, too.
func writesInOrder() sim.Model {
	m := sim.Worst()
	m.Name += "-waw"
	m.Caps.Fence, m.Caps.WriteAfterWrite = false, true
	return m
}

// railModels returns networks of several NICs. The later ones are slower: a signal on the fast one
// overtakes data on a slow one.
func railModels() []sim.Model {
	several := func(m sim.Model, nics, skew int) sim.Model {
		m.NICs, m.Rails, m.Skew, m.Cross = nics, nics, skew, 5*sim.Microsecond
		return m
	}
	return []sim.Model{
		several(sim.EFA(), 2, 20), several(sim.EFADirect(), 2, 20), several(sim.Worst(), 4, 3), several(sim.Rough(sim.TCP()), 3, 5),
	}
}

// Random programs on every model: no order that OpenSHMEM promises is broken.
func TestSimOrder(t *testing.T) {
	models := simModels(t)
	most := simPart.Share(*simOps) / len(models)
	if need.Race {
		most = min(most, 10_000)
	}
	for _, m := range models {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			mem := new(memories)
			start, ops, seeds, all := time.Now(), 0, 0, orderedPuts{}
			// The remainders of a seed decide some of its choices: each part has all remainders.
			for seed := simPart.Seed(); ops < most && !t.Failed(); seed++ {
				if *simSeed != 0 {
					seed = *simSeed
				}
				n, _, o := runSeedCounted(t, m, seed, true, mem)
				ops += n
				all.add(o)
				if seeds++; *simSeed != 0 {
					break
				}
			}
			took := time.Since(start)
			t.Logf("%d operations of %d seeds in %v: %.0f a second, %v a seed", ops, seeds, took.Round(time.Millisecond),
				float64(ops)/took.Seconds(), (took / time.Duration(max(seeds, 1))).Round(10*time.Microsecond))
			t.Logf("%+v", all)
			if *simSeed != 0 || *simModel != "" {
				return
			}
			// Each kind of order must have been used, if the network has it.
			if all.waited == 0 || all.merged == 0 {
				t.Error("nothing waited at its sender, or shared a message")
			}
			if seeds > 20 && all.slept == 0 {
				t.Error("no PE went to sleep")
			}
			if !m.Caps.SendAfterWrite && seeds > 20 && all.notified == 0 {
				t.Error("no write brought a notification along")
			}
			if !m.Caps.SendAfterWrite && seeds > 20 && (all.numbered == 0 || all.held == 0 || all.streamless == 0 && m.Caps.DeliveryComplete) {
				t.Error("a way to keep the order was never gone")
			}
		})
	}
}

// All 16 combinations of promises of a provider, at its worst.
func TestSimCombinations(t *testing.T) {
	mem := new(memories)
	for i := range 16 {
		m := sim.Worst()
		c := &m.Caps
		c.MaxInject = []int{0, 40, 64, 8192}[i%4]
		c.VirtualAddress, c.LocalMR = i&1 != 0, i&2 != 0
		c.SendAfterSend, c.SendAfterWrite, c.WriteAfterWrite, c.DeliveryComplete = i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0
		for seed := range uint64(2) {
			runSeed(t, m, uint64(i)*2+seed+1, true, mem)
		}
	}
}

// A seed is one run: the same seed gives the same run to the bit, and another seed gives another.
func TestSimReplay(t *testing.T) {
	mem := new(memories)
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Worst()} {
		var first [4]uint64
		for round := range 3 {
			for seed := range first {
				_, trace := runSeed(t, m, uint64(seed+1), true, mem)
				if round == 0 {
					first[seed] = trace
				} else if trace != first[seed] {
					t.Errorf("%s, seed %d: trace %#x, then %#x", m.Name, seed+1, first[seed], trace)
				}
			}
		}
		for i, x := range first {
			for _, y := range first[:i] {
				if x == y {
					t.Errorf("%s: two seeds have the trace %#x", m.Name, x)
				}
			}
		}
	}
}

// simMistakes are mistakes of a program and broken promises of a network. The random programs must
// find each of them within a few seeds.
var simMistakes = []struct {
	name   string
	model  sim.Model
	defect sim.Defect
	fences bool
	tamper func(frame []byte) // changes a frame that is sent
}{
	{"messages do not say what they follow", sim.Rough(sim.EFA()), sim.NoDefect, true, forgetNeed},
	{"messages do not say what they follow on efa-direct", sim.Rough(sim.EFADirect()), sim.NoDefect, true, forgetNeed},
	{"early data", sim.Rough(sim.EFA()), sim.EarlyData, true, nil},
	{"early data on efa-direct", sim.Rough(sim.EFADirect()), sim.EarlyData, true, nil},
	{"unfenced", sim.Worst(), sim.Unfenced, true, nil},
	{"no fence on worst", sim.Worst(), sim.NoDefect, false, nil},
	{"no fence on efa", sim.EFA(), sim.NoDefect, false, nil},
	{"no fence on efa-direct", sim.EFADirect(), sim.NoDefect, false, nil},
	{"no fence on tcp", sim.Rough(sim.TCP()), sim.NoDefect, false, nil},
	{"writes overtake", sim.Rough(sim.TCP()), sim.WritesOvertake, true, nil},
	{"messages lead", sim.Rough(sim.TCP()), sim.MessagesLead, true, nil},
	{"early delivery", sim.Worst(), sim.EarlyDelivery, true, nil},
	{"early source", sim.Rough(sim.TCP()), sim.EarlySource, true, nil},
	{"forgets", sim.Worst(), sim.Forgets, true, nil},
	{"repeats", sim.Worst(), sim.Repeats, true, nil},
	{"twice", sim.Worst(), sim.Twice, true, nil},
	{"spills", sim.EFA(), sim.Spills, true, nil},
	{"spills on efa-direct", sim.EFADirect(), sim.Spills, true, nil},
}

func forgetNeed(frame []byte) { clear(frame[48:52]) }

const mistakeVariable = "PROXY_SIM_MISTAKE"

// Each mistake is made in a process of its own. The process has to fail.
func TestSimNotices(t *testing.T) {
	if name := os.Getenv(mistakeVariable); name != "" {
		for _, c := range simMistakes {
			if c.name != name {
				continue
			}
			c.model.Broken = c.defect
			tamper = c.tamper
			mem := new(memories)
			for seed := uint64(1); seed <= 10 && !t.Failed(); seed++ {
				runSeed(t, c.model, seed, c.fences, mem)
			}
		}
		return
	}
	for _, c := range simMistakes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestSimNotices$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), mistakeVariable+"="+c.name)
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); !failed || !strings.Contains(string(out), "again: -sim.model=") {
				t.Errorf("not noticed: %v\n%s", err, out)
				return
			}
			_, text, _ := strings.Cut(string(out), "_test.go:")
			first, _, _ := strings.Cut(text, "\n")
			t.Logf("noticed in %v: %s", time.Since(start).Round(time.Millisecond), first)
		})
	}
}
