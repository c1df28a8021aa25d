package sim

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// writeAll writes count times n bytes by each pair of sites, as much at a time as there is room
// for, and returns how long that takes and how many completions each target got.
func writeAll(t *testing.T, n *Network, pairs [][2]*site, bytes, count int) Time {
	t.Helper()
	start := n.Now()
	ended := 0
	var all []*site
	sent := make([]int, len(pairs))
	free := make([][]fabric.Token, len(pairs))
	for i, p := range pairs {
		all = append(all, p[0], p[1])
		for tok := range fabric.Token(16) {
			free[i] = append(free[i], tok)
		}
	}
	if !run(func() bool {
		for i, p := range pairs {
			for _, c := range p[0].comps {
				free[i] = append(free[i], c.Token)
				ended++
			}
			p[0].comps = p[0].comps[:0]
			for sent[i] < count && len(free[i]) > 0 {
				last := len(free[i]) - 1
				if p[0].Write(p[0].rma(p[1].pe, p[1], 0, 0, bytes, free[i][last])) != nil {
					break
				}
				free[i] = free[i][:last]
				sent[i]++
			}
		}
		return ended == count*len(pairs)
	}, all...) {
		t.Fatal("the writes do not end")
	}
	return n.Now() - start
}

// calm returns a model without faults.
func calm(m Model) Model {
	m.Faults = faults.Faults{}
	return m
}

// Bytes take the time that the wires allow: of one NIC, of several, and of one
// that many send to.
func TestPlayedRates(t *testing.T) {
	const size, count = 1 << 20, 30
	for _, c := range []struct {
		what    string
		model   Model
		nics    int
		senders int
		want    float64 // of the line rate of one NIC
	}{
		{"one NIC", EFA(), 1, 1, 1},
		{"one NIC", EFADirect(), 1, 1, 1},
		{"four NICs", EFA(), 4, 1, 4},
		{"four NICs", EFADirect(), 4, 1, 4},
		{"32 NICs", EFA100(), 32, 1, 32},
		{"four to one", EFA(), 1, 4, 1},
		{"four to one", EFADirect(), 1, 4, 1},
		{"tcp", TCP(), 1, 1, 1},
	} {
		t.Run(c.model.Name+", "+c.what, func(t *testing.T) {
			m := calm(c.model)
			m.NICs, m.Rails = c.nics, c.nics
			n := New(m, 1)
			var pairs [][2]*site
			for s := range c.senders {
				for nic := range c.nics {
					config := fabric.Config{NICs: nicName(nic)}
					a, b := newSite(t, n, 1+s, config), newSite(t, n, 0, config)
					connect(a, b)
					acquaint(n, a, b)
					pairs = append(pairs, [2]*site{a, b})
				}
			}
			took := writeAll(t, n, pairs, size, count)
			bits := float64(8 * size * count * len(pairs))
			wire := float64(m.MTU) / float64(m.MTU+m.Header)
			share := bits / float64(took) * 1e9 / float64(m.Bandwidth) / wire / c.want
			t.Logf("%.1f Gb/s, %.3f of what the wires carry", bits/float64(took), share)
			if share > 1.002 || share < 0.97 { // a packet takes whole nanoseconds
				t.Errorf("%.3f of what the wires carry", share)
			}
			for nic := range c.nics {
				_, in := n.Carried(0, nic)
				if want := uint64(size * count * c.senders); in < want || float64(in) > 1.1*float64(want) {
					t.Errorf("NIC %d has taken %d bytes of %d", nic, in, want)
				}
			}
		})
	}
}

// The way between rails is longer, and the processor's time for each operation
// counts.
func TestLatency(t *testing.T) {
	for _, m := range []Model{EFA(), EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { latency(t, calm(m)) })
	}
}

func latency(t *testing.T, m Model) {
	m.NICs, m.Rails, m.Cross, m.Post = 2, 2, 5*Microsecond, 700
	trip := func(from, to string) Time {
		n := New(m, 1)
		a, b := newSite(t, n, 0, fabric.Config{NICs: from}), newSite(t, n, 1, fabric.Config{NICs: to})
		connect(a, b)
		acquaint(n, a, b)
		return writeAll(t, n, [][2]*site{{a, b}}, 8, 1)
	}
	near, far := trip("nic0", "nic0"), trip("nic0", "nic1")
	if near < 2*m.Latency+m.Post || near > 2*m.Latency+m.Post+Microsecond || far-near != 2*m.Cross {
		t.Errorf("there and back takes %d ns on one rail and %d ns between two", near, far)
	}
	n := New(m, 1)
	a, b := newSite(t, n, 0, fabric.Config{}), newSite(t, n, 1, fabric.Config{})
	connect(a, b)
	acquaint(n, a, b)
	const ops = 1000
	if took := writeAll(t, n, [][2]*site{{a, b}}, 8, ops); took < ops*m.Post {
		t.Errorf("%d operations took %d ns, with a processor that needs %d for each", ops, took, m.Post)
	}
}

const traceVariable = "SIM_TEST_TRACE"

// The same calls give the same run to the bit, in another process too, and
// another seed another one.
func TestPlayedReplay(t *testing.T) {
	var here string
	for _, m := range append(Models(), Unread(TCP(), 1), Unread(Worst(), 4096)) {
		trace := func(seed uint64) uint64 {
			n := New(m, seed)
			a, b := newSite(t, n, 0, fabric.Config{}), newSite(t, n, 1, fabric.Config{})
			connect(a, b)
			writeAll(t, n, [][2]*site{{a, b}, {b, a}}, 30000, 40)
			return n.Trace()
		}
		first := trace(1)
		for range 3 {
			if again := trace(1); again != first {
				t.Errorf("%s: trace %#x, then %#x", m, first, again)
			}
		}
		if trace(2) == first {
			t.Errorf("%s: two seeds have one trace", m)
		}
		here += fmt.Sprintf("%#016x ", first)
	}
	if os.Getenv(traceVariable) != "" {
		fmt.Println(here)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPlayedReplay$")
	cmd.Env = append(os.Environ(), traceVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), here) {
		t.Errorf("another process: %v, traces\n%swant\n%s", err, out, here)
	}
}
