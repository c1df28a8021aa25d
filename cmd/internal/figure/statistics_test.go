package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 100}, 3},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("no values have a median")
	}
}

// TestInterval: the ranks and confidences are those of the binomial distribution with p = 1/2.
func TestInterval(t *testing.T) {
	for n, want := range map[int]string{
		1:  "1 to 1, 0.000",
		2:  "1 to 2, 0.500",
		5:  "1 to 5, 0.938",
		6:  "1 to 6, 0.969",
		8:  "1 to 8, 0.992",
		9:  "2 to 8, 0.961",
		11: "2 to 10, 0.988",
		20: "6 to 15, 0.959",
		30: "10 to 21, 0.957",
	} {
		var v []float64
		for i := range n {
			v = append(v, float64((i*7)%n+1)) // in another order, where 7 does not divide n
		}
		low, high, confidence := Interval(v)
		if got := fmt.Sprintf("%v to %v, %.3f", low, high, confidence); got != want {
			t.Errorf("%d values: %s, want %s", n, got, want)
		}
	}
}

// TestCoverage: the interval has the median of the distribution as often as it says.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times, n = 20000, 11
	inside, says := 0, 0.0
	for range times {
		var v []float64
		for range n {
			v = append(v, r.ExpFloat64())
		}
		low, high, confidence := Interval(v)
		if low <= math.Ln2 && math.Ln2 <= high {
			inside++
		}
		says = confidence
	}
	if got := float64(inside) / times; math.Abs(got-says) > 0.01 {
		t.Errorf("%.3f of the intervals have the median, and the confidence is %.3f", got, says)
	}
}
