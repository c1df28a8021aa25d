package program

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"libshmem/runtime/shmerr"
)

// Call is one recorded call. Times are nanoseconds on one clock for all PEs.
type Call struct {
	Name       string
	Thread     int64
	Start, End int64
	Stolen     int64 // the part of the time before Start in which the thread could not run
	Peer       int   // -1: the call names no PE
	Bytes      uint64
	Team       int64 // World: the call names no team
}

// never is before all times. Others may be negative: those of another host's clock are converted.
const never = math.MinInt64

// Limits on what one call may move. A replay simulates each message, so that it would never end for
// a size that no program has, as in a damaged trace.
const (
	maxBytes  = 1 << 36
	maxPieces = 1 << 20
)

// World is the number of the team of all PEs. Other teams have the numbers of the recording.
const World = -1

// Op is a call to be replayed.
type Op struct {
	Meaning
	Name   int   // in Job.Names
	Gap    int64 // time of computation before the call
	Stolen int64 // time before the call in which the thread could not run
	Took   int64 // recorded length of the call
	Work   int64 // of Exchange: the part of Took that every member needed
	Peer   int
	Bytes  uint64
	Pieces int // messages of a strided call
	Team   int // in Job.Teams
	Start  int64

	After   []Ref  // calls of other threads of the PE that have ended before the gap begins
	Behind  []Ref  // of a collective: the one before it of this PE and team, if another thread made it
	Needs   []Need // what a Wait needs
	Seq     uint64 // of an update: its number among the thread's updates of the peer
	Flagged bool   // a Wait needs this update
}

// Ref names a call: its thread and its index there.
type Ref struct{ Thread, Op int }

// Need names an update that a wait needs: the call that made it (Ref), and its number among the
// updates that the thread of that call made at the waiting PE.
type Need struct {
	Ref
	Seq uint64
}

// Thread is one thread of a PE.
type Thread struct {
	PE    int
	ID    int64
	Ops   []Op
	First int64 // when the time before its first call begins
}

// Job is the programs of all PEs.
type Job struct {
	PEs     int
	Names   []string
	Teams   [][]int // members, ascending; the first is the world
	TeamIDs []int64
	Threads []*Thread // the threads of a PE are consecutive, in the order of their first calls
	Begin   []int64   // of each PE: the end of init
	End     []int64   // of each PE: the beginning of finalize
	Guessed []string  // what the recording does not say, and what was assumed instead
}

// Recorded returns the time from the first end of an init to the last beginning of finalize.
func (j *Job) Recorded() int64 { return slices.Max(j.End) - slices.Min(j.Begin) }

// Builder makes a Job of the calls of a recording.
type Builder struct {
	cost    int64               // ns of recording, see NewBuilder
	pes     []map[int64]*Thread // by PE and the thread's number in the recording
	names   map[string]int      // indexes in job.Names
	meaning []Meaning           // of job.Names
	job     *Job
	init    []int64                // by PE: the end of init, or never
	final   []int64                // by PE: the beginning of finalize, or never
	teams   map[int64]map[int]bool // by the team's number: the PEs that use it

	described map[int64][]int // by the team's number: the members that the recording lists
}

// NewBuilder returns a Builder for the programs of `pes` PEs. cost is the time in nanoseconds by
// which the recorder lengthens the time between two calls; it is subtracted.
func NewBuilder(pes int, cost int64) *Builder {
	b := &Builder{
		cost: cost, pes: make([]map[int64]*Thread, pes), names: map[string]int{}, teams: map[int64]map[int]bool{}, described: map[int64][]int{},
		job: &Job{PEs: pes, Begin: make([]int64, pes), End: make([]int64, pes)}, init: make([]int64, pes), final: make([]int64, pes),
	}
	for i := range b.pes {
		b.pes[i], b.init[i], b.final[i] = map[int64]*Thread{}, never, never
	}
	return b
}

// nameIndex returns the index of a function in Job.Names. The first time it adds the function, and
// what the replay does for its calls (MeaningOf).
func (b *Builder) nameIndex(s string) int {
	n, ok := b.names[s]
	if !ok {
		n = len(b.job.Names)
		b.names[s] = n
		b.job.Names = append(b.job.Names, s)
		b.meaning = append(b.meaning, MeaningOf(s))
	}
	return n
}

// Add adds a call of a PE. The calls of a thread must be added in the order of their ends, or of
// their starts. If a PE calls init or finalize several times, its program begins after the last end
// of an init, and ends at the finalize that was added first.
func (b *Builder) Add(pe int, c Call) error {
	if pe < 0 || pe >= len(b.pes) {
		return shmerr.Causef(shmerr.ErrPE, "%s: a call of PE %d, in a job of %d PEs", c.Name, pe, len(b.pes))
	}
	n := b.nameIndex(c.Name)
	m := b.meaning[n]
	switch {
	case (m.Kind.Updates() || m.Kind == Get) && (c.Peer < 0 || c.Peer >= len(b.pes)):
		return shmerr.Causef(shmerr.ErrPE, "%s of PE %d: its target is PE %d, in a job of %d PEs", c.Name, pe, c.Peer, len(b.pes))
	case c.Bytes > maxBytes || m.Strided && m.Element > 0 && c.Bytes/uint64(m.Element) > maxPieces:
		return shmerr.Causef(shmerr.ErrArgument, "%s of PE %d: %d bytes in one call are more than a replay simulates", c.Name, pe, c.Bytes)
	case c.End < c.Start:
		return shmerr.Causef(shmerr.ErrArgument, "%s of PE %d ends before it begins", c.Name, pe)
	case m.Kind == Init:
		b.init[pe] = max(b.init[pe], c.End)
		return nil
	case m.Kind == Finalize:
		if b.final[pe] == never {
			b.final[pe] = c.Start
		}
		return nil
	}
	t := b.pes[pe][c.Thread]
	if t == nil {
		t = &Thread{PE: pe, ID: c.Thread}
		b.pes[pe][c.Thread] = t
	}
	op := Op{Meaning: m, Name: n, Stolen: c.Stolen, Took: c.End - c.Start, Peer: c.Peer, Bytes: c.Bytes, Pieces: 1, Start: c.Start}
	if m.Strided && m.Element > 0 {
		op.Pieces = max(1, int(c.Bytes/uint64(m.Element)))
	}
	if m.Kind.Collective() {
		op.Team = b.team(pe, c.Team)
	}
	t.Ops = append(t.Ops, op)
	return nil
}

// SetMembers sets the members of a team that the recording lists. A team for which it is not called
// has the PEs that use its number.
func (b *Builder) SetMembers(id int64, members []int) {
	if id != World && id != 0 {
		b.described[id] = slices.Sorted(slices.Values(members))
	}
}

// team returns the index in Job.Teams of the team with this number, and records that a PE is a
// member of it.
func (b *Builder) team(pe int, id int64) int {
	if id == World || id == 0 { // SHMEM_TEAM_WORLD is 0 in all libraries
		return 0
	}
	if b.teams[id] == nil {
		b.teams[id] = map[int]bool{}
		b.job.TeamIDs = append(b.job.TeamIDs, id)
	}
	b.teams[id][pe] = true
	for i, t := range b.job.TeamIDs {
		if t == id {
			return 1 + i
		}
	}
	return 0
}

// Job ends the recording: it orders the calls, finds the time between them, and matches the waits.
func (b *Builder) Job() (*Job, error) {
	j := b.job
	all := make([]int, j.PEs)
	for i := range all {
		all[i] = i
	}
	j.Teams = [][]int{all}
	for _, id := range j.TeamIDs {
		members, ok := b.described[id]
		for pe := range b.teams[id] {
			if ok && !slices.Contains(members, pe) {
				return nil, shmerr.Causef(shmerr.ErrArgument, "PE %d calls a collective of team %d, of which it is not a member (replay the files of one run, as its PEs have written them)", pe, id)
			}
		}
		if !ok {
			members = slices.Sorted(maps.Keys(b.teams[id]))
			j.Guessed = append(j.Guessed, fmt.Sprintf("the members of team %d are taken to be the %d PEs that use its number", id, len(members)))
		}
		j.Teams = append(j.Teams, members)
	}
	for pe, threads := range b.pes {
		if err := b.addPE(pe, threads); err != nil {
			return nil, err
		}
	}
	j.matchWaits()
	j.findWork(j.orderCollectives())
	return j, nil
}

// orderCollectives puts the collectives that a PE has made of one team in the order of their
// starts, whichever threads made them: members of a team match its collectives by their order. Each
// begins behind the end of the one before it.
func (j *Job) orderCollectives() map[[2]int][]Ref {
	all := map[[2]int][]Ref{} // by PE and team
	for i, t := range j.Threads {
		for k := range t.Ops {
			if o := &t.Ops[k]; o.Kind.Collective() {
				key := [2]int{t.PE, o.Team}
				all[key] = append(all[key], Ref{i, k})
			}
		}
	}
	for _, calls := range all {
		slices.SortStableFunc(calls, func(x, y Ref) int { return cmp.Compare(j.op(x).Start, j.op(y).Start) })
		for n := 1; n < len(calls); n++ {
			before, o := j.op(calls[n-1]), j.op(calls[n])
			if calls[n-1].Thread != calls[n].Thread && before.Start+before.Took <= o.Start {
				o.Behind = []Ref{calls[n-1]}
			}
		}
	}
	return all
}

// op returns a call.
func (j *Job) op(r Ref) *Op { return &j.Threads[r.Thread].Ops[r.Op] }

// findWork finds the work of each Exchange, for example to clear memory: the member that arrived
// last waited for no other, so the length of its call is the time of the work. collectives has the
// calls of each PE and team, which belong together by their order.
func (j *Job) findWork(collectives map[[2]int][]Ref) {
	type place struct{ team, nth int }
	least := map[place]int64{}
	for _, pass := range []func(place, *Op){
		func(p place, o *Op) {
			if old, ok := least[p]; !ok || o.Took < old {
				least[p] = o.Took
			}
		},
		func(p place, o *Op) { o.Work = least[p] },
	} {
		for key, calls := range collectives {
			nth := 0
			for _, c := range calls {
				if o := j.op(c); o.Kind == Exchange {
					pass(place{key[1], nth}, o)
					nth++
				}
			}
		}
	}
}

// addPE orders the calls of a PE, finds the time between them, and adds its threads to the job.
func (b *Builder) addPE(pe int, threads map[int64]*Thread) error {
	j := b.job
	var list []*Thread
	for _, t := range threads {
		slices.SortStableFunc(t.Ops, func(x, y Op) int { return cmp.Compare(x.Start, y.Start) })
		t.dropInner()
		list = append(list, t)
	}
	if len(list) == 0 {
		return shmerr.Causef(shmerr.ErrArgument, "PE %d has no call (record every PE from init to finalize)", pe)
	}
	slices.SortFunc(list, func(x, y *Thread) int { return cmp.Compare(x.Ops[0].Start, y.Ops[0].Start) })
	j.Begin[pe], j.End[pe] = b.init[pe], b.final[pe]
	if j.Begin[pe] == never {
		j.Begin[pe] = list[0].Ops[0].Start
	}
	if j.End[pe] == never {
		for _, t := range list {
			j.End[pe] = max(j.End[pe], t.endOfLastCall())
		}
	}
	base := len(j.Threads)
	j.Threads = append(j.Threads, list...)
	for i, t := range list {
		t.First = j.Begin[pe]
		if i > 0 {
			j.startAfter(base, i)
		}
		end := t.First
		for k := range t.Ops {
			t.Ops[k].setGap(t.Ops[k].Start - end - b.cost)
			end = t.Ops[k].Start + t.Ops[k].Took
		}
	}
	for i := 1; i < len(list); i++ {
		j.joinThread(base, base+i, b.cost)
	}
	return nil
}

// endOfLastCall returns the end of the last call.
func (t *Thread) endOfLastCall() int64 {
	o := &t.Ops[len(t.Ops)-1]
	return o.Start + o.Took
}

// dropInner removes calls that were made within another call: some libraries call their own public
// functions. The calls are in the order of their starts; those that stay do not overlap, so their
// ends have the same order.
func (t *Thread) dropInner() {
	kept, end := t.Ops[:0], int64(never)
	for _, o := range t.Ops {
		if o.Start < end {
			continue
		}
		end = o.Start + o.Took
		kept = append(kept, o)
	}
	t.Ops = kept
}

// startAfter makes thread i of a PE, whose threads begin at index base, start when the last call
// that older threads had ended by then has ended in the replay: that thread has probably created
// it.
func (j *Job) startAfter(base, i int) {
	t := j.Threads[base+i]
	first := t.Ops[0].Start
	for k, other := range j.Threads[base : base+i] {
		n, _ := slices.BinarySearchFunc(other.Ops, first, func(o Op, at int64) int { return cmp.Compare(o.Start+o.Took, at) })
		if n == 0 {
			continue
		}
		if end := other.Ops[n-1].Start + other.Ops[n-1].Took; end > t.First {
			t.First = end
			t.Ops[0].After = []Ref{{base + k, n - 1}}
		}
	}
}

// joinThread makes the first thread of the PE wait for the end of another thread, as pthread_join
// does, if the first thread makes a call after that and was not within a call then. first and other
// are indexes in j.Threads, cost is the recorder's (NewBuilder).
func (j *Job) joinThread(first, other int, cost int64) {
	main, t := j.Threads[first], j.Threads[other]
	end := t.endOfLastCall()
	n, _ := slices.BinarySearchFunc(main.Ops, end, func(o Op, at int64) int { return cmp.Compare(o.Start, at) })
	if n == len(main.Ops) {
		return
	}
	o := &main.Ops[n]
	if n > 0 && main.Ops[n-1].Start+main.Ops[n-1].Took > end {
		return // the first thread was in a call then, and did not wait for the other one
	}
	o.After = append(o.After, Ref{other, len(t.Ops) - 1})
	if since := o.Start - end - cost; since < o.Gap+o.Stolen {
		o.setGap(since)
	}
}

// setGap divides the time that passed before a call into the part in which the thread had no
// processor, as recorded, and the rest, in which it computed.
func (o *Op) setGap(passed int64) {
	passed = max(0, passed)
	o.Stolen = min(o.Stolen, passed)
	o.Gap = passed - o.Stolen
}
