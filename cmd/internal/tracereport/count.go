package tracereport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"

	"libshmem/cmd/internal/tracefile"
)

const (
	maxNames  = 1 << 12 // functions that have a separate row
	maxGroups = 1 << 10 // rows of the matrix
	// maxMissing limits the list of PEs without a file.
	maxMissing = 1000
	otherNames = "(other names)"
)

// counter adds up the events of a trace.
type counter struct {
	trace   *tracefile.Trace
	kinds   map[string]kind  // by name of the function
	calls   map[string]*sums // by name of the function
	network map[string]*sums // by name of the action of a proxy, ring or NIC
	threads map[tracefile.Thread]*span
	pes     map[int]*PE
	sizes   [65]Size  // by the number of bits in the size
	matrix  [2]Matrix // of calls, of the network
	waits   *waits
	writers *writers
	noTeam  int64 // collective calls that name no team
}

// sums has the times of a function's calls, and the bytes that they moved.
type sums struct {
	histogram
	bytes int64
}

// span is the time from the first call of a thread to the end of its last one.
type span struct{ first, last int64 }

// Make reports on the named files and those in the named folders, and returns these files as well.
// It reads them twice: first to count the collective calls of each PE, which shows which calls
// belong together, and then to add up all events.
func Make(names []string) (*Report, []*tracefile.File, error) {
	c := &counter{
		kinds: map[string]kind{}, calls: map[string]*sums{}, network: map[string]*sums{},
		threads: map[tracefile.Thread]*span{}, pes: map[int]*PE{}, waits: newWaits(), writers: newWriters(),
	}
	var err error
	c.trace, err = tracefile.Scan(names, func(e *tracefile.Event) {
		if k := c.kind(e); k.collective {
			if id := teamOf(e, k); id != tracefile.None {
				c.waits.countExpected(id, e.PE)
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	c.waits.numberCalls(func(pe int) missingEvents {
		p := c.trace.PE(pe)
		return missingEvents{oldest: p.Old > 0, anywhere: p.Lost > p.Old, end: p.Cut}
	})
	c.waits.error = c.trace.Alignment().Error
	m, err := c.trace.Merge()
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	var e tracefile.Event
	for {
		switch err := m.Next(&e); {
		case errors.Is(err, io.EOF):
			return c.report(), c.trace.Files, nil
		case err != nil:
			return nil, nil, err
		}
		c.add(&e)
	}
}

// newMatrix makes a matrix for `pes` PEs. If there are more PEs than rows, a row is a group of PEs.
func newMatrix(pes int) Matrix {
	m := Matrix{Group: max((pes+maxGroups-1)/maxGroups, 1)}
	n := (pes + m.Group - 1) / m.Group
	m.Calls, m.Bytes = make([][]int64, n), make([][]int64, n)
	for i := range n {
		m.Calls[i], m.Bytes[i] = make([]int64, n), make([]int64, n)
	}
	return m
}

// add adds bytes that one PE moved to or from another.
func (m *Matrix) add(pe, peer int, bytes int64) {
	r, c := pe/m.Group, peer/m.Group
	if r < len(m.Calls) && c < len(m.Calls) {
		m.Calls[r][c]++
		m.Bytes[r][c] += bytes
	}
}

// countPair counts bytes that PE `pe` moved to or from PE `peer`, in the matrix of calls (index 0)
// or of the network (index 1). It makes a matrix only when that is first needed, because most
// traces have the events of one of them.
func (c *counter) countPair(index, pe, peer int, bytes int64) {
	if c.matrix[index].Group == 0 {
		c.matrix[index] = newMatrix(c.trace.NPEs)
	}
	c.matrix[index].add(pe, peer, bytes)
}

// kind returns the kind of the function that an event calls, from a table by names; an event that
// is no call has the empty kind.
func (c *counter) kind(e *tracefile.Event) kind {
	if !e.Call() {
		return kind{}
	}
	k, ok := c.kinds[e.Name]
	if !ok {
		k = kindOf(e.Name)
		if len(c.kinds) < maxNames {
			c.kinds[e.Name] = k
		}
	}
	return k
}

// teamOf returns the number of the team on which a collective was called; tracefile.None if the
// trace does not say it. Some functions have no team, and are of all PEs, number 0.
func teamOf(e *tracefile.Event, k kind) int64 {
	if e.Team == tracefile.None && k.world {
		return 0
	}
	return e.Team
}

// rowOf returns the row of a function in a table, and adds it the first time. Names for which the
// table has no room share one row.
func rowOf(table map[string]*sums, name string) *sums {
	s := table[name]
	if s == nil {
		if len(table) >= maxNames {
			if name != otherNames {
				return rowOf(table, otherNames)
			}
		}
		s = &sums{}
		table[name] = s
	}
	return s
}

// add adds an event to all sums of the report: those of its function, its PE, its thread, its size,
// and the pair of PEs that it moves bytes between.
func (c *counter) add(e *tracefile.Event) {
	if e.Phase != 'X' {
		return
	}
	n := max(e.Bytes, 0)
	if !e.Call() {
		s := rowOf(c.network, e.Name)
		s.add(e.Length)
		if e.Peer != tracefile.None && movesBytes(e.Name) {
			s.bytes += n
			c.countPair(1, e.PE, e.Peer, n)
		}
		return
	}
	k := c.kind(e)
	s := rowOf(c.calls, e.Name)
	s.add(e.Length)
	p := c.pe(e.PE)
	p.Calls++
	p.CallNs += e.Length
	t := c.threads[tracefile.Thread{PE: e.PE, Call: true, Number: e.Thread}]
	if t == nil {
		t = &span{e.At, e.End()}
		c.threads[tracefile.Thread{PE: e.PE, Call: true, Number: e.Thread}] = t
	}
	t.first, t.last = min(t.first, e.At), max(t.last, e.End())
	switch {
	case k.waits:
		c.writers.startWait(e)
	case k.updates && e.Peer != tracefile.None && e.Peer != e.PE:
		c.writers.noteUpdate(e)
	}
	if k.collective {
		if id := teamOf(e, k); id != tracefile.None {
			c.waits.add(id, e.Name, k, arrival{e.PE, e.At, e.End()})
		} else {
			c.noTeam++
		}
	}
	// A call that names another PE and a number of bytes moves them. A call with only bytes waits
	// or allocates.
	pair := !k.collective && e.Peer != tracefile.None && e.Bytes != tracefile.None
	if pair {
		c.countPair(0, e.PE, e.Peer, n)
	}
	if pair || k.data && e.Bytes != tracefile.None {
		s.bytes += n
		p.Bytes += n
		size := &c.sizes[bits.Len64(uint64(n))]
		size.Calls++
		size.Bytes += n
	}
}

// movesBytes reports whether an action of a NIC, by its name in the trace, moves bytes. A refused
// action does not: the operation is posted again.
func movesBytes(name string) bool {
	return name == "send" || name == "write" || name == "read" || name == "atomic"
}

// pe returns the sums of a PE, and makes them the first time.
func (c *counter) pe(n int) *PE {
	p := c.pes[n]
	if p == nil {
		p = &PE{PE: n}
		c.pes[n] = p
	}
	return p
}

// report makes the report from the sums, when all events were added.
func (c *counter) report() *Report {
	t := c.trace
	r := &Report{Version: Version, Functions: functionRows(c.calls), Network: functionRows(c.network)}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range t.PEs {
		if p.Calls+p.Others > 0 {
			first, last = min(first, p.First), max(last, p.Last)
		}
		r.Job.Lost += p.Lost
		if r.Job.Program == "" {
			r.Job.Program, r.Job.Library = p.Program, p.Library
		}
		row := c.pe(p.PE)
		row.Host, row.Lost, row.LengthNs = p.Host, p.Lost, p.Last-p.First
		row.WaitedNs, row.CausedNs, row.Last = c.waits.waited[p.PE], c.waits.caused[p.PE], c.waits.last[p.PE]
		r.Job.Calls += row.Calls
		r.Job.CallNs += row.CallNs
	}
	if first > last { // no PE has an event
		first, last = 0, 0
	}
	for _, n := range slices.Sorted(maps.Keys(c.pes)) {
		r.PEs = append(r.PEs, *c.pes[n])
	}
	for _, s := range c.threads {
		r.Job.ThreadNs += s.last - s.first
	}
	a := t.Alignment()
	r.Job.Hosts, r.Job.Simulated, r.Job.NPEs, r.Job.Seen = a.Hosts, t.SimulatedHosts(), t.NPEs, len(t.PEs)
	missing := t.Missing()
	r.Job.Missing = missing[:min(len(missing), maxMissing)]
	r.Job.BeginNs, r.Job.LengthNs, r.Job.ClockErrorNs = first, last-first, a.Error
	if !a.Known {
		r.Job.ClockErrorNs = -1
	}
	r.Matrix = c.matrix[0]
	r.Matrix.Of = "calls"
	if r.Job.Calls == 0 {
		r.Matrix = c.matrix[1]
		r.Matrix.Of = "network"
	}
	for i, s := range c.sizes {
		if s.Calls > 0 {
			if i > 0 {
				s.From, s.To = 1<<(i-1), 1<<(i-1)*2-1
			}
			r.Sizes = append(r.Sizes, s)
		}
	}
	r.Waits = c.waits.results(first)
	for i := range r.Waits.Worst {
		w := &r.Waits.Worst[i]
		if members := t.Teams[w.Team]; w.Team != 0 && len(members) > 0 {
			w.Members = tracefile.PEs(members)
		}
	}
	r.Guesses = c.writers.guesses()
	r.Counted = counts(t)
	r.Notes = c.notes()
	r.Summary = r.summary()
	r.replaceNilLists()
	return r
}

// replaceNilLists replaces nil lists by empty ones, so that the JSON form has [] and not null.
func (r *Report) replaceNilLists() {
	r.Notes, r.Summary = append([]string{}, r.Notes...), append([]string{}, r.Summary...)
	r.Functions, r.Network = append([]Function{}, r.Functions...), append([]Function{}, r.Network...)
	r.Counted, r.PEs, r.Sizes = append([]Count{}, r.Counted...), append([]PE{}, r.PEs...), append([]Size{}, r.Sizes...)
	r.Job.Hosts, r.Job.Missing = append([]string{}, r.Job.Hosts...), append([]int{}, r.Job.Missing...)
	r.Waits.Pairs, r.Waits.Worst = append([]Pair{}, r.Waits.Pairs...), append([]Instant{}, r.Waits.Worst...)
	r.Matrix.Group = max(r.Matrix.Group, 1)
}

// counts lists how often functions were called whose calls have no events, of all PEs together,
// most called first.
func counts(t *tracefile.Trace) []Count {
	sums := map[string]int64{}
	for _, p := range t.PEs {
		for name, n := range p.Counted {
			sums[name] += n
		}
	}
	var list []Count
	for name, n := range sums {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name)) })
	return list
}

// functionRows makes the rows of a table of functions, those that took most time first.
func functionRows(table map[string]*sums) []Function {
	var list []Function
	for name, s := range table {
		list = append(list, Function{
			Name: name, Calls: s.n, Bytes: s.bytes, Ns: s.total,
			P50: s.percentile(50), P90: s.percentile(90), P99: s.percentile(99), Max: s.max,
		})
	}
	slices.SortFunc(list, func(a, b Function) int { return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Name, b.Name)) })
	return list
}

// notes returns sentences that the reader needs before the figures: what the trace lacks, and what
// the waits leave out.
func (c *counter) notes() []string {
	notes := c.trace.Notes()
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if ignored := slices.Sorted(maps.Keys(c.waits.ignored)); len(ignored) > 0 {
		say("The waits leave out collective calls of %s, because lost events hide which calls belong together.", tracefile.PEs(ignored))
	}
	if w := c.waits; w.left > w.error {
		say("%s %s before the last PE arrived, which is impossible: the clocks differ by at least that much, or the trace lacks calls of a PE that suspended it.", w.leftOf, tracefile.Duration(w.left))
	}
	if c.noTeam > 0 {
		say("%s left out of the waits.", countOf(c.noTeam, "collective call without a team is", "collective calls without a team are"))
	}
	if c.waits.dropped {
		say("Only the first %d pairs of PEs that waited for each other have a row.", maxPairs)
	}
	return append(notes, c.waits.notes...)
}
