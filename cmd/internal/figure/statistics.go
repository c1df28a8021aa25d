package figure

import (
	"math"
	"slices"
)

// Median returns the middle of the values, or the mean of the two in the middle.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// Interval returns the interval in which the median of the distribution lies with the confidence,
// by ranks: it needs no assumption about the distribution, except that the values are independent.
// It is the shortest symmetric one of at least 95 %, or, with fewer than 6 values, the whole range
// of the values.
func Interval(values []float64) (low, high, confidence float64) {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return math.NaN(), math.NaN(), 0
	}
	rank, outside := 0, math.Pow(0.5, float64(n)) // the chance that the median is below v[rank]
	for below := outside; rank+1 < (n+1)/2; rank++ {
		below = below * float64(n-rank) / float64(rank+1) // P(exactly rank+1 values are below it)
		if 2*(outside+below) > 0.05 {
			break
		}
		outside += below
	}
	return v[rank], v[n-1-rank], 1 - 2*outside
}

// setMedian computes the median of the figure's batches, and its interval.
func (f *Figure) setMedian() {
	f.Median = Median(f.Batches)
	f.Low, f.High, f.Confidence = Interval(f.Batches)
}
