package proxy

import (
	"flag"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"libshmem"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
	"libshmem/tests/part"
)

var simPaths = flag.Int("sim.paths", need.Load("paths"), "orders of events that are tried for each small program; 0: all")

// chooser walks through a tree of choices, depth first: each run takes the choices of the path and
// then the first of each further choice, and next goes to the path behind it. With a part it leaves
// out the branches of other parts, which the first choices determine.
type chooser struct {
	path, width []int
	at          int
	part        *part.Part
}

// branch is the number of choices that decide which part a branch belongs to: some thousand
// branches, so that parts have similar sizes. Each branch costs the other parts one path.
const branch = 8

// mine reports whether the path that was run belongs to this part. A path of another part is cut
// short, so that next goes to the branch behind it.
func (c *chooser) mine() bool {
	if c.part == nil || c.part.N < 2 {
		return true
	}
	h, n := fnv.New64a(), min(branch, len(c.path))
	for _, i := range c.path[:n] {
		h.Write([]byte{byte(i)})
	}
	if c.part.Has(h.Sum64()) {
		return true
	}
	c.path, c.width = c.path[:n], c.width[:n]
	return false
}

func (c *chooser) pick(n int) int {
	if n == 1 {
		return 0
	}
	if c.at == len(c.path) {
		c.path, c.width = append(c.path, 0), append(c.width, n)
	}
	c.at++
	return c.path[c.at-1]
}

// next reports whether there is another path.
func (c *chooser) next() bool {
	c.at = 0
	for k := len(c.path) - 1; k >= 0; k-- {
		if c.path[k]++; c.path[k] < c.width[k] {
			c.path, c.width = c.path[:k+1], c.width[:k+1]
			return true
		}
	}
	return false
}

// smallPrograms are programs of PE 0 for PE 1: put, sig (put with signal) and their bytes, amo,
// fetch, fence and quiet. Each ends with a quiet.
var smallPrograms = []string{
	"put8 fence put8",
	"put6000 fence put8",
	"put8 fence put6000",
	"put6000 fence put6000",
	"put6000 put6000 fence put8",
	"sig6000",
	"sig8 fence put6000",
	"sig6000 fence put8",
	"sig6000 sig6000",
	"amo fence put6000",
	"put6000 fence amo",
	"fetch fence put6000",
	"put6000 quiet put6000",
	"put6000 fence put6000 put8",
}

// begin returns the step of one word of a small program.
func (g *simProgram) begin(word string) func() bool {
	name := strings.TrimRight(word, "0123456789")
	n, _ := strconv.Atoi(word[len(name):])
	n = min(n, int(g.PutMax()))
	s := g.to[1]
	switch name {
	case "put":
		f := s.add(g.w.rng, word, n, 8)
		source, offset := g.source(f.bytes()), libshmem.Offset(f.at)
		return g.posting(source, false, func(r *Request) Status {
			return g.Put(1, offset, simAt(source), uint64(n), r)
		}, nil)
	case "sig":
		g.putSignal(s, 1, n, false)
	case "amo":
		g.atomic(s, 1)
	case "fetch":
		g.fetching(s, 1, true)
	case "quiet":
		return g.quieting()
	case "fence":
		if g.fences {
			g.Fence()
		}
		s.epoch++
		return func() bool { return true }
	default:
		panic("no such word: " + word)
	}
	return g.step
}

// explore runs one path of a small program and returns how many events it has.
func explore(t testing.TB, m sim.Model, text string, fences bool, c *chooser, mem *memories) (events int, failed bool) {
	w := newWorld(t, m, 1, 2, simShared+64<<10+staging, mem)
	w.net.Manual(true)
	w.sleeps = false // when a PE polls is chosen
	defer func() {
		for _, p := range w.pes {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			mem.give(p.memory)
		}
		if w.ended {
			t.Logf("program %q, path %v", text, c.path)
		}
	}()
	g := newProgram(w, w.pes[0], 0)
	g.fences = fences
	words := append(strings.Fields(text), "quiet")
	for idle := 0; !w.ended; {
		for len(words) > 0 || g.step != nil {
			if g.step == nil {
				g.step = g.begin(words[0])
				words = words[1:]
			}
			if !g.step() {
				break
			}
			g.step = nil
		}
		g.to[1].check(w)
		if len(words) == 0 && g.step == nil {
			break
		}
		pending := w.net.Pending()
		var ready []*proc
		for _, p := range w.pes {
			if !p.prov.Arm() {
				ready = append(ready, p)
			}
		}
		if pending+len(ready) == 0 {
			// Room may come without a completion.
			for _, p := range w.pes {
				w.poll(p)
			}
			if idle++; idle > 10 {
				w.fail("program %q is stuck", text)
			}
			continue
		}
		events, idle = events+1, 0
		if i := c.pick(pending + len(ready)); i < pending {
			w.net.Pick(i)
		} else {
			w.poll(ready[i-pending])
		}
	}
	return events, w.ended
}

// still returns a network without chance: the test chooses what happens to a packet. Small messages
// are injected, which saves the events of their completions.
func still(m sim.Model, split float64) sim.Model {
	m.Faults = faults.Faults{Split: split}
	m.Bandwidth, m.MTU, m.Caps.MaxInject = 0, 8192, 128
	return m
}

// Small programs run in every order of events, or in the first of these orders, which differ in the
// last events.
func TestSimExplore(t *testing.T) {
	mem, enough := new(memories), simPart.Share(*simPaths)
	if need.Race { // there are no threads for the race detector to watch here, and it takes ten times as long
		enough = min(enough, 100)
	}
	models := []sim.Model{sim.TCP(), sim.Verbs(), sim.EFA(), sim.EFADirect(), sim.Worst(), sourced(sim.Worst()), sim.Bare(), sourced(sim.Bare())}
	// With sockets a Poll that reads is one more possible event.
	models = append(models, sim.Unread(sim.TCP(), 1), sim.Unread(sourced(sim.Worst()), 1))
	if *simModel != "" {
		models = simModels(t)
	}
	for _, m := range models {
		m = still(m, 0)
		enough := enough
		if m.PollBytes > 0 { // whose paths are longer
			enough = (enough + 2) / 3
		}
		for _, text := range smallPrograms {
			paths, most, whole := 0, 0, false
			for c := (&chooser{part: simPart}); ; {
				events, failed := explore(t, m, text, true, c, mem)
				if failed {
					return
				}
				if c.mine() {
					paths, most = paths+1, max(most, events)
				}
				if whole = !c.next(); whole || paths == enough {
					break
				}
			}
			t.Logf("%-6s %-28s %6d paths of up to %d events, all: %v", kind(m), text, paths, most, whole)
		}
	}
}

// kind names a model, and whether it has sockets.
func kind(m sim.Model) string {
	if m.PollBytes > 0 {
		return m.Name + ", sockets"
	}
	return m.Name
}

// sourced makes a model promise to name the writer: then no PE has to ask for a sequence stream
// first, and writes have numbers from the first one on.
func sourced(m sim.Model) sim.Model {
	m.Caps.Source = true
	return m
}

// quietly takes the reports of a test that has to fail.
type quietly struct {
	testing.TB
	said string
}

func (q *quietly) Helper()             {}
func (q *quietly) Logf(string, ...any) {}
func (q *quietly) Errorf(format string, args ...any) {
	q.said += fmt.Sprintf(format, args...)
}

// Without the fence some order of events shows the error, if the network does not keep the order by
// itself.
func TestSimExploreNotices(t *testing.T) {
	mem := new(memories)
	for _, c := range []struct {
		model sim.Model
		text  string
	}{
		{sim.TCP(), "put8 fence put6000"},
		{sim.Verbs(), "amo fence put6000"},
		{sim.EFA(), "put6000 fence put8"},
		{sim.EFADirect(), "put6000 fence put8"},
		{sim.EFA(), "put6000 fence put6000"},
		{sim.EFADirect(), "put6000 fence put6000"},
		{sourced(sim.Worst()), "put6000 fence amo"},
		{sim.Unread(sim.TCP(), 1), "put8 fence put6000"},
		{sim.Unread(sim.EFA(), 1), "put6000 fence put6000"},
		{sim.Unread(sim.EFADirect(), 1), "put6000 fence put6000"},
	} {
		q, paths := &quietly{TB: t}, 1
		for ch := new(chooser); paths < 100_000; paths++ {
			if _, failed := explore(q, still(c.model, 0), c.text, false, ch, mem); failed || !ch.next() {
				break
			}
		}
		said, _, _ := strings.Cut(q.said, "\n")
		if !strings.Contains(said, " sees ") {
			t.Errorf("%s, %q without its fence: nothing in %d paths", kind(c.model), c.text, paths)
		}
		t.Logf("%s, path %d: %s", kind(c.model), paths, said)
	}
}
