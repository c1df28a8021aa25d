package main

// delays is a histogram of delays in ns, the same as struct bench_delays. It has 64 steps for each
// power of two, so a step is at most 1.6 % of its delay.
type delays struct {
	steps                  [2560]uint32
	count, sum, max, early uint64
}

// quantile returns the upper end of the step that has the quantile q, in ns.
func (d *delays) quantile(q float64) float64 {
	want := uint64(q * float64(d.count))
	var seen uint64
	for i, n := range d.steps {
		seen += uint64(n)
		if seen > want {
			return float64(stepEnd(uint64(i)))
		}
	}
	return float64(d.max)
}

// stepEnd returns the greatest delay of a step. The first 64 steps are 1 ns each.
func stepEnd(step uint64) uint64 {
	if step < 64 {
		return step
	}
	e := step/64 - 1
	return (step%64+64)<<e + 1<<e - 1
}
