package fifo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQueue compares a queue with a slice.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[int]
	var want []int
	for i := range 10000 {
		switch {
		case rng.IntN(5) < 3 || len(want) == 0:
			q.Push(i)
			want = append(want, i)
		case rng.IntN(2) == 0:
			if got := q.Pop(); got != want[0] {
				t.Fatalf("step %d: the front is %d, want %d", i, got, want[0])
			}
			want = want[1:]
		default:
			last := len(want) - 1
			if got := q.PopLast(); got != want[last] {
				t.Fatalf("step %d: the end is %d, want %d", i, got, want[last])
			}
			want = want[:last]
		}
		var have []int
		for k := range q.Len() {
			have = append(have, *q.At(k))
		}
		if !slices.Equal(have, want) {
			t.Fatalf("step %d: %v, want %v", i, have, want)
		}
		if len(want) > 40 {
			want = nil
			for q.Len() > 0 {
				q.Pop()
			}
		}
	}
}
