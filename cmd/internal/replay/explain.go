package replay

import (
	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
)

// Cause is one thing that may limit the speed of a job.
type Cause int

// The causes.
const (
	Computation Cause = iota
	Lateness          // PEs that arrive late
	Latency
	Bandwidth
	Processing // the processor's time for operations
	Causes
)

// Explanation is a prediction and the causes on which it depends. The job is replayed again without
// each of Latency, Bandwidth and Processing: the time that this saves is the share of the cause.
// Computation is the mean of what the PEs compute, and Lateness the rest of the time on a network
// that costs nothing. The shares need not add up to the total, because one cause may hide another.
type Explanation struct {
	*Result
	Costs [Causes]sim.Time
	Late  int     // the PE for which the others wait longest in Ideal
	Ideal *Result // of the replay on a network that costs nothing
}

// Bottleneck returns the cause with the largest share.
func (x *Explanation) Bottleneck() Cause {
	most := Computation
	for c := range Causes {
		if x.Costs[c] > x.Costs[most] {
			most = c
		}
	}
	return most
}

// Explain replays a job on a network, again without each cost of the network and of the processor,
// and on a network that costs nothing, to find the share of each cause.
func Explain(job *program.Job, model Model, site Site) (*Explanation, error) {
	base, err := Run(job, model, site)
	if err != nil {
		return nil, err
	}
	x := &Explanation{Result: base}
	ideal := model
	for _, c := range []struct {
		cause Cause
		drop  func(*Model)
	}{
		{Latency, func(m *Model) { m.Latency, m.Cross = 0, 0 }},
		{Bandwidth, func(m *Model) { m.Model.Bandwidth = 0 }},
		{Processing, (*Model).zeroCosts},
	} {
		m := model
		c.drop(&m)
		c.drop(&ideal)
		r, err := Run(job, m, site)
		if err != nil {
			return nil, err
		}
		x.Costs[c.cause] = max(0, base.Total-r.Total)
	}
	if x.Ideal, err = Run(job, ideal, site); err != nil {
		return nil, err
	}
	for pe := range x.Ideal.PEs {
		x.Costs[Computation] += x.Ideal.PEs[pe].Computed / sim.Time(job.PEs)
		if x.Ideal.PEs[pe].CausedLate > x.Ideal.PEs[x.Late].CausedLate {
			x.Late = pe
		}
	}
	x.Costs[Lateness] = max(0, x.Ideal.Total-x.Costs[Computation])
	return x, nil
}
