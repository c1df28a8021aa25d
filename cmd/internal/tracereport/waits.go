package tracereport

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxHeld       = 1 << 20 // arrivals in memory: at collective calls that some PE has not made yet
	maxPairs      = 1 << 20 // pairs of PEs in memory
	maxShown      = 20      // worst collective calls in the report
	maxPairsShown = 100     // pairs of PEs in the report
)

// waits matches the collective calls of each team by their order, which is the same on all PEs.
type waits struct {
	Waits
	teams   map[int64]*team
	held    int              // arrivals in memory
	pairs   map[[2]int]*Pair // by the PE that waited and the PE for which it waited
	caused  map[int]int64    // by PE: how long others waited for it
	waited  map[int]int64    // by PE: how long it waited
	last    map[int]int64    // by PE: how often it arrived last
	error   int64            // error of the clocks: if two PEs arrived within it, the last one is not known
	notes   []string
	left    int64        // ns by which a PE seems to have left a call before the last one had arrived, which is impossible
	leftOf  string       // names that PE and call, for the report
	dropped bool         // some pairs are not in pairs, which was full
	ignored map[int]bool // PEs of which some calls are left out
}

// team has the collective calls of one team.
type team struct {
	calls  map[int]int64 // number of calls of each PE, in the whole trace
	next   map[int]int64 // the index of each PE's next call
	starts []int64       // the index of each PE's first call, sorted
	ends   []int64       // the index after each PE's last call, sorted
	open   []*collective // calls that some PE has yet to make, from index base on
	base   int64
	number map[string]int64 // by function: how many of its calls were evaluated
	broken bool             // its further calls cannot be matched
}

// collective is one collective call, and the PEs that have made it so far.
type collective struct {
	name     string
	kind     kind
	arrivals []arrival
}

// arrival is the call of one PE in a collective call, from begin to end.
type arrival struct {
	pe         int
	begin, end int64
}

// newWaits returns the state of a report of waits, without any call.
func newWaits() *waits {
	return &waits{
		teams: map[int64]*team{}, pairs: map[[2]int]*Pair{},
		caused: map[int]int64{}, waited: map[int]int64{}, last: map[int]int64{}, ignored: map[int]bool{},
	}
}

// countExpected counts, in the first pass over the trace, a collective call that a PE makes on team
// id. Only when all calls are counted is it known which PEs make a call. The second pass adds the
// calls (add).
func (w *waits) countExpected(id int64, pe int) {
	t := w.teams[id]
	if t == nil {
		t = &team{calls: map[int]int64{}, next: map[int]int64{}, number: map[string]int64{}}
		w.teams[id] = t
	}
	t.calls[pe]++
}

// numberCalls ends the first pass and numbers the calls of each PE on a team. The calls have the
// same order on all PEs, so that calls with equal numbers belong together. The first call gets the
// number 0. If the oldest calls of a PE are in no file, the last calls of all PEs get the same
// number instead, and the calls of PEs whose last calls are not recorded, because they were killed,
// are left out. The calls of PEs that may lack calls anywhere are always left out.
func (w *waits) numberCalls(lossOf func(pe int) missingEvents) {
	for _, t := range w.teams {
		fromEnd, most := false, int64(0)
		for pe := range t.calls {
			fromEnd = fromEnd || lossOf(pe).oldest
		}
		for pe, n := range t.calls {
			if l := lossOf(pe); l.anywhere || fromEnd && l.end {
				w.Unmatched += n
				w.ignored[pe] = true
				delete(t.calls, pe)
				continue
			}
			most = max(most, n)
		}
		for pe, n := range t.calls {
			if fromEnd {
				t.next[pe] = most - n
			}
			t.starts = append(t.starts, t.next[pe])
			t.ends = append(t.ends, t.next[pe]+n)
		}
		slices.Sort(t.starts)
		slices.Sort(t.ends)
	}
}

// missingEvents tells which events of a PE may be in no file: the oldest ones, any, or the last
// ones.
type missingEvents struct{ oldest, anywhere, end bool }

// members returns the number of PEs that make the call of this index, according to the first pass.
func (t *team) members(index int64) int {
	began, _ := slices.BinarySearch(t.starts, index+1)
	ended, _ := slices.BinarySearch(t.ends, index+1)
	return began - ended
}

// add matches a call of a PE with those of the others, and evaluates each collective call that all
// members have made.
func (w *waits) add(id int64, name string, k kind, a arrival) {
	t := w.teams[id]
	if t == nil || t.calls[a.pe] == 0 {
		return // numberCalls has left out the PE, and has counted its calls
	}
	if t.broken {
		w.Unmatched++
		return
	}
	index := t.next[a.pe]
	t.next[a.pe]++
	for int64(len(t.open)) <= index-t.base {
		t.open = append(t.open, nil)
	}
	m := t.open[index-t.base]
	if m == nil {
		m = &collective{name: name, kind: k}
		t.open[index-t.base] = m
	}
	if m.kind.family != k.family {
		w.giveUpTeam(t, fmt.Sprintf("PE %d called %s on team %d, and PE %d %s in its place: later calls on this team are not matched.",
			m.arrivals[0].pe, m.name, id, a.pe, name), 1)
		return
	}
	m.arrivals = append(m.arrivals, a)
	if w.held++; w.held > maxHeld {
		w.giveUpTeam(t, fmt.Sprintf("The PEs of team %d are further apart than %d calls: later calls on this team are not matched.", id, maxHeld), 0)
		return
	}
	for len(t.open) > 0 && t.open[0] != nil && len(t.open[0].arrivals) == t.members(t.base) {
		w.held -= len(t.open[0].arrivals)
		w.findWaits(id, t, t.open[0])
		t.open = t.open[1:]
		t.base++
	}
}

// giveUpTeam leaves out the further calls of a team, because they can no longer be matched; note
// says why. extra is the number of unmatched calls that are not in open.
func (w *waits) giveUpTeam(t *team, note string, extra int64) {
	t.broken = true
	w.Unmatched += extra
	for _, m := range t.open {
		if m != nil {
			w.held -= len(m.arrivals)
			w.Unmatched += int64(len(m.arrivals))
		}
	}
	t.open = nil
	w.notes = append(w.notes, note)
}

// findWaits finds which PE waited for which in one call. Each PE waited for the last PE that
// arrived before it left; if no PE leaves before all have arrived, that is the PE that arrived last
// of all.
func (w *waits) findWaits(id int64, t *team, m *collective) {
	t.number[m.name]++
	all := m.arrivals
	if len(all) < 2 {
		return
	}
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.pe, b.pe)) })
	last := all[len(all)-1]
	lateBy := last.begin - all[len(all)-2].begin
	instant := Instant{Function: m.name, Team: id, Number: t.number[m.name], Late: last.pe, ByNs: lateBy, AtNs: last.begin, PEs: len(all)}
	if m.kind.start { // PEs arrive when the launcher has started them
		for _, a := range all {
			instant.LostNs += last.begin - a.begin
		}
		w.Start = &instant
		return
	}
	w.Collectives++
	for i, a := range all {
		after, _ := slices.BinarySearchFunc(all, a.end, func(b arrival, end int64) int {
			if b.begin <= end {
				return -1
			}
			return 1
		})
		// The last PE that arrived before this one left.
		cause := all[max(after-1, i)]
		if m.kind.together {
			if early := last.begin - a.end; early > w.left {
				w.left, w.leftOf = early, fmt.Sprintf("PE %d left call %d of %s on team %d", a.pe, t.number[m.name], m.name, id)
			}
		}
		ns := cause.begin - a.begin
		if ns <= 0 {
			continue
		}
		w.addWait(a.pe, cause.pe, ns)
		instant.LostNs += ns
	}
	if lateBy > w.error {
		w.last[last.pe]++
	}
	w.addWorst(instant)
}

// addWait adds the time ns for which PE `pe` waited for PE `cause`.
func (w *waits) addWait(pe, cause int, ns int64) {
	w.Ns += ns
	w.waited[pe] += ns
	w.caused[cause] += ns
	p := w.pairs[[2]int{pe, cause}]
	if p == nil {
		if len(w.pairs) >= maxPairs {
			w.dropped = true
			return
		}
		p = &Pair{Waiter: pe, For: cause}
		w.pairs[[2]int{pe, cause}] = p
	}
	p.Ns += ns
	p.Times++
}

// addWorst inserts a call into the list of the worst calls, which is ordered by lost time, if it
// belongs there.
func (w *waits) addWorst(i Instant) {
	at, _ := slices.BinarySearchFunc(w.Worst, i.LostNs, func(a Instant, lost int64) int { return cmp.Compare(lost, a.LostNs) })
	for at < len(w.Worst) && w.Worst[at].LostNs == i.LostNs { // the first one stays first
		at++
	}
	if i.LostNs == 0 || at == maxShown {
		return
	}
	w.Worst = slices.Insert(w.Worst, at, i)
	w.Worst = w.Worst[:min(len(w.Worst), maxShown)]
}

// results returns the waits when all calls were added, with times from `start`, the time at which
// the job began. Calls that some PE never made are counted as unmatched.
func (w *waits) results(start int64) Waits {
	for _, t := range w.teams {
		for _, m := range t.open {
			if m != nil {
				w.Unmatched += int64(len(m.arrivals))
			}
		}
	}
	for _, p := range w.pairs {
		w.Pairs = append(w.Pairs, *p)
	}
	slices.SortFunc(w.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Waiter, b.Waiter), cmp.Compare(a.For, b.For))
	})
	if len(w.Pairs) > maxPairsShown {
		w.Pairs = w.Pairs[:maxPairsShown]
	}
	for i := range w.Worst {
		w.Worst[i].AtNs -= start
	}
	if w.Start != nil {
		w.Start.AtNs -= start
	}
	return w.Waits
}
