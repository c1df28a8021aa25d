package main

// delays counts delays in ns, 64 steps to each power of two: 1.6 % apart. As
// struct bench_delays.
type delays struct {
	steps                  [2560]uint32
	count, sum, max, early uint64
}

// quantile returns the upper end of the step that has the fraction q of all below it.
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

func stepEnd(step uint64) uint64 {
	if step < 64 {
		return step
	}
	e := step/64 - 1
	return (step%64+64)<<e + 1<<e - 1
}
