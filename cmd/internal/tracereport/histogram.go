package tracereport

import "math/bits"

// The buckets of a histogram: each number below `exact` has one. Above that each power of two is
// divided into `parts` buckets, so that the middle of a bucket differs from each number in it by at
// most 1/64.
const (
	exact   = 64
	parts   = 32
	shift   = 5                    // log2(parts)
	buckets = exact + (63-6)*parts // 6: log2(exact)
	// ErrorPercent is the largest error of percentiles: 100/64, rounded up.
	ErrorPercent = 1.6
)

// histogram counts numbers from 0 to 1<<63-1.
type histogram struct {
	count    [buckets]int64
	n, total int64
	min, max int64
}

// bucket returns the number of the bucket of v.
func bucket(v int64) int {
	if v < exact {
		return int(v)
	}
	k := bits.Len64(uint64(v)) // 7 for 64..127
	return exact + (k-7)*parts + int(v>>(k-1-shift)) - parts
}

// middle returns the number that represents all numbers of a bucket.
func middle(b int) int64 {
	if b < exact {
		return int64(b)
	}
	k := 7 + (b-exact)/parts
	width := int64(1) << (k - 1 - shift)
	return int64((b-exact)%parts+parts)*width + width/2
}

// add counts a number.
func (h *histogram) add(v int64) {
	h.count[bucket(v)]++
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.n++
	h.total += v
}

// percentile returns the number that `percent` percent of the numbers do not exceed.
func (h *histogram) percentile(percent int64) int64 {
	rank := (h.n*percent + 99) / 100
	for b, n := range h.count {
		if rank -= n; rank <= 0 && n > 0 {
			return min(max(middle(b), h.min), h.max)
		}
	}
	return h.max
}
