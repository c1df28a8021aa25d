package wire

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

var (
	one  = flag.Int("wire.seed", -1, "one seed of TestAttacks, whose job is printed; -1: all")
	show = flag.String("wire.show", "", "the jobs of TestAttacks that are printed, by a regular expression of their end")
)

// atOnce is how many jobs run at the same time. Most of their time they wait.
const atOnce = 3

// providers returns those over TCP that libfabric offers: newer versions have net as tcp.
func providers() []string {
	all := []string{"tcp;msg"}
	for _, p := range []string{"net", "tcp;ofi_rxm", "net;ofi_rxm"} {
		if exec.Command("fi_info", "-p", p, "-t", "FI_EP_RDM").Run() == nil {
			all = append(all, p)
		}
	}
	return all
}

// pairs makes hosts for jobs that run at the same time.
func pairs(t *testing.T) (all []*pair) {
	t.Helper()
	need.Namespaces(t)
	need.Command(t, "ip")
	need.Command(t, "nsenter")
	need.File(t, "/dev/net/tun")
	build := need.Build(t)
	program := cc.Program(t, build, "testdata/job.c")
	for range atOnce {
		p := &pair{shmemrun: filepath.Join(build, "bin", "shmemrun"), program: program}
		p.proxy = newProxy([2]*host{newHost(t, 0), newHost(t, 1)})
		t.Cleanup(func() {
			for _, h := range p.hosts {
				_ = h.tap.Close()
			}
			p.running.Wait()
		})
		all = append(all, p)
	}
	return all
}

// unharmed runs a job without an attack, which must end right, and returns how many segments each
// host sends.
func (p *pair) unharmed(t *testing.T, provider string) [2]int {
	t.Helper()
	o, err := p.run(provider, attack{})
	if err != nil {
		t.Fatal(err)
	}
	if o.what != "no harm" {
		t.Fatalf("without an attack: %s\n%s", o.what, o.output)
	}
	segments, _ := p.result()
	return segments
}

// drawn returns the attack of a seed.
func drawn(seed uint64, segments [2]int) attack {
	rng := rand.New(rand.NewPCG(seed, 5))
	a := attack{seed: seed, from: rng.IntN(2)}
	// Half of them change bytes.
	if a.kind = kind(1 + rng.IntN(2*int(kinds-1))); a.kind >= kinds {
		a.kind = change
	}
	a.layer = layer(rng.IntN(int(layers)))
	if a.segment = rng.IntN(segments[a.from]); rng.IntN(4) == 0 {
		a.segment = rng.IntN(6) // while the hosts connect
	}
	return a
}

// TestAttacks runs jobs of two PEs over each provider of TCP, each under one attack that a seed
// chooses. Each job ends right, or right but for the bytes in its targets, or it reports a loss or a
// wait. Only a changed header of libfabric's own may do more: make libfabric write elsewhere, or end
// a PE inside libfabric.
func TestAttacks(t *testing.T) {
	all := pairs(t)
	for _, provider := range providers() {
		t.Run(provider, func(t *testing.T) {
			segments := all[0].unharmed(t, provider)
			seeds := make(chan int, need.Load("attacks"))
			for seed := range need.Load("attacks") {
				if *one < 0 || *one == seed {
					seeds <- seed
				}
			}
			if close(seeds); *one >= need.Load("attacks") {
				t.Fatalf("-wire.seed=%d: there are %d (TESTS=full has more)", *one, need.Load("attacks"))
			}
			var mu sync.Mutex
			ends := map[string]int{}
			var working sync.WaitGroup
			for _, p := range all {
				working.Add(1)
				go func() {
					defer working.Done()
					for seed := range seeds {
						a := drawn(uint64(seed), segments)
						o, err := p.run(provider, a)
						if err != nil {
							t.Error(err)
							return
						}
						what := a.kind.String()
						if a.kind == change {
							what += " of " + a.layer.String()
						}
						if o.done == "" {
							what = "nothing, which never came to a " + a.kind.String()
						}
						mu.Lock()
						ends[fmt.Sprintf("%s: %s", what, o.what)]++
						mu.Unlock()
						if o.defect || *one >= 0 || *show != "" && regexp.MustCompile(*show).MatchString(o.what) {
							t.Logf("%v, which %s, ends in %s:\n%s", a, o.done, o.what, o.output)
						}
						if o.defect {
							t.Errorf("%v ends in %s", a, o.what)
						}
					}
				}()
			}
			working.Wait()
			for _, what := range slices.Sorted(maps.Keys(ends)) {
				t.Logf("%s %d times", what, ends[what])
			}
		})
	}
}

// TestChosen runs jobs under attacks whose end is known, and looks for the words of their reports.
func TestChosen(t *testing.T) {
	// The segments come after those of shmem_init and before those of shmem_finalize.
	moved := attack{kind: change, layer: offset, from: 1, segment: 40, seed: 2}
	const refused = `shmem: PE 0: receive: dropped a message without the seal of a PE: .*, 1 dropped so far`
	type row struct {
		provider string
		attack   attack
		says     string
	}
	rows := []row{
		{"tcp;msg", attack{kind: reset, from: 1, segment: 40}, `shmem: PE \d: the job: PE \d cannot be reached any more: `},
		{"tcp;msg", attack{kind: silence, from: 1, segment: 40}, `shmem: PE \d: \S+ has waited \d+ s: .*PE \d`},
		{"tcp;msg", attack{kind: replay, from: 1, segment: 40, hold: true}, `shmem: PE \d: poll: refused what came from outside of the job, 1 so far`},
	}
	for _, provider := range providers() {
		rows = append(rows, row{provider, moved, refused})
	}
	all := pairs(t)
	free := make(chan *pair, len(all))
	for _, p := range all {
		free <- p
	}
	var working sync.WaitGroup
	for _, r := range rows {
		working.Add(1)
		go func() {
			defer working.Done()
			p := <-free
			defer func() { free <- p }()
			o, err := p.run(r.provider, r.attack)
			switch {
			case err != nil:
				t.Error(err)
			case o.done == "" || o.defect || !regexp.MustCompile(r.says).MatchString(o.output):
				t.Errorf("%s: a job, %v, which %s, ends in %s:\n%s", r.provider, r.attack, o.done, o.what, o.output)
			}
		}()
	}
	working.Wait()
}
