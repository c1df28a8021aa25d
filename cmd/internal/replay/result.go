package replay

import (
	"cmp"
	"slices"

	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
	"libshmem/runtime/shmerr"
)

// Result is a replay. Times are nanoseconds of virtual time.
type Result struct {
	Total      sim.Time   // from the first end of an init to the last end of a PE
	PEs        []PE       // by number
	Phases     []Phase    // between barriers of all PEs
	Kept       []Kept     // calls that took their recorded time, by name
	Released   int        // waits that the replay ended because nothing else could
	Carried    [][]uint64 // bytes that the NICs of each host have sent
	Operations uint64     // operations that the engines have posted to the NICs

	job  *program.Job
	left []int         // barriers that each PE has left so far
	kept map[int]*Kept // by index in job.Names
}

// PE is one PE of a Result.
type PE struct {
	Recorded, Predicted sim.Time
	Computed            sim.Time // computation of its busiest thread, with the calls that take their recorded time
	Network             sim.Time // processor time for the network
	Late                sim.Time // time for which it waited for PEs that arrived later
	Waited              sim.Time // time for which it waited for the network
	CausedLate          sim.Time // time for which others waited for it
}

// Phase ends with a barrier of all PEs.
type Phase struct {
	Recorded, Predicted sim.Time // when the last PE left the barrier
}

// Phase returns how long the phase up to a barrier takes, recorded and predicted.
func (r *Result) Phase(i int) (recorded, predicted sim.Time) {
	recorded, predicted = r.Phases[i].Recorded, r.Phases[i].Predicted
	if i > 0 {
		recorded, predicted = recorded-r.Phases[i-1].Recorded, predicted-r.Phases[i-1].Predicted
	}
	return recorded, predicted
}

// Kept counts calls that took their recorded time although they may depend on other PEs.
type Kept struct {
	Name  string
	Calls int
	Time  sim.Time
}

// newResult returns an empty result of a job.
func newResult(job *program.Job) *Result {
	return &Result{job: job, PEs: make([]PE, job.PEs), left: make([]int, job.PEs), kept: map[int]*Kept{}}
}

// countUnmodelled counts a call that has ended, if the replay does not know what it does (Unknown)
// and therefore gave it its recorded time.
func (r *Result) countUnmodelled(o *program.Op) {
	if o.Kind != program.Unknown {
		return
	}
	k := r.kept[o.Name]
	if k == nil {
		k = &Kept{Name: r.job.Names[o.Name]}
		r.kept[o.Name] = k
	}
	k.Calls++
	k.Time += sim.Time(o.Took)
}

// countWait adds up a wait of a PE. `late` is the part for which it waited for PE `by`, which came
// later; the rest, `network`, is for the network. by is -1 if there is no such PE.
func (r *Result) countWait(pe, by int, late, network sim.Time) {
	r.PEs[pe].Late += late
	r.PEs[pe].Waited += network
	if by >= 0 {
		r.PEs[by].CausedLate += late
	}
}

// countBarrier records that a thread's PE leaves a barrier of all PEs, which ends a phase. The last
// PE that leaves determines when the phase ends.
func (r *Result) countBarrier(t *thread, o *program.Op) {
	n := r.left[t.PE]
	r.left[t.PE]++
	if n == len(r.Phases) {
		r.Phases = append(r.Phases, Phase{})
	}
	p := &r.Phases[n]
	p.Recorded = max(p.Recorded, sim.Time(o.Start+o.Took-slices.Min(r.job.Begin)))
	p.Predicted = max(p.Predicted, t.m.now)
}

// finish adds to the result what is known only after the whole run: the times of each PE, the
// total, and the bytes of each NIC.
func (m *machine) finish() *Result {
	r := m.result
	for pe := range r.PEs {
		x := &r.PEs[pe]
		x.Recorded = sim.Time(m.job.End[pe] - m.job.Begin[pe])
		begin := sim.Time(m.job.Begin[pe] - slices.Min(m.job.Begin))
		for _, t := range m.pes[pe].threads {
			computed := sim.Time(0)
			for i := range t.Ops {
				computed += m.gap(&t.Ops[i])
				if k := t.Ops[i].Kind; k == program.Local || k == program.Unknown {
					computed += sim.Time(t.Ops[i].Took)
				}
			}
			x.Computed = max(x.Computed, computed)
			x.Predicted = max(x.Predicted, t.end-begin)
		}
		// The first thread computes after its last call, up to finalize.
		main := m.pes[pe].threads[0]
		last := &main.Ops[len(main.Ops)-1]
		rest := sim.Time(max(0, m.job.End[pe]-last.Start-last.Took))
		x.Computed += rest
		x.Predicted = max(x.Predicted, main.end+rest-begin)
		r.Total = max(r.Total, begin+x.Predicted)
	}
	for _, p := range m.pes {
		r.Operations += p.prov.handed
	}
	for h := range m.hosts {
		var out []uint64
		for nic := range m.model.NICs {
			sent, _ := m.net.Carried(h, nic)
			out = append(out, sent)
		}
		r.Carried = append(r.Carried, out)
	}
	for _, k := range r.kept {
		r.Kept = append(r.Kept, *k)
	}
	slices.SortFunc(r.Kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	return r
}

// endStuckWait is called when no event is left and threads still wait. Of their waits it ends the
// one that ended first in the recording, because that was matched with a wrong update. It reports
// whether there was one.
func (m *machine) endStuckWait() bool {
	var first *thread
	for _, t := range m.threads {
		o := &t.Ops[min(t.op, len(t.Ops)-1)]
		if t.cond == nil || t.free || o.Kind != program.Wait {
			continue
		}
		if first == nil || o.Start+o.Took < first.Ops[first.op].Start+first.Ops[first.op].Took {
			first = t
		}
	}
	if first == nil {
		return false
	}
	m.result.Released++
	first.free = true
	first.pe.wakeUp()
	return true
}

// deadlockError returns an error that names a call that waits for ever.
func (m *machine) deadlockError() error {
	for _, t := range m.threads {
		if t.cond != nil {
			o := &t.Ops[t.op]
			return shmerr.Causef(shmerr.ErrArgument, "PE %d waits forever in its call %d, %s: the calls of the PEs do not belong together (record all of one run)",
				t.PE, t.op+1, m.job.Names[o.Name])
		}
	}
	return shmerr.Causef(shmerr.ErrArgument, "no PE can go on")
}
