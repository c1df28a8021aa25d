package sim

import (
	"testing"

	"libshmem/fabric"
)

// A caller that drives the clock itself: Poll handles no event, RunTo handles those up to its time,
// and Arrived names the ends that have something to poll for.
func TestDrive(t *testing.T) {
	n := New(calm(TCP()), 1)
	a, b := newSite(t, n, 1, fabric.Config{}), newSite(t, n, 0, fabric.Config{})
	connect(a, b)
	n.Manual(true)
	var arrived []int
	n.OnWork(func(end int) { arrived = append(arrived, end) })
	if _, ok := n.Next(); ok {
		t.Fatal("an event, and nothing was posted")
	}
	if err := a.Write(a.rma(b.pe, b, 0, 0, 8, 1)); err != nil {
		t.Fatal(err)
	}
	first, ok := n.Next()
	if !ok || first != n.Now() {
		t.Errorf("the first event is at %d, now %d", first, n.Now())
	}
	comps := make([]fabric.Completion, 4)
	if k, err := a.Poll(comps); k != 0 || err != nil || n.Now() != first {
		t.Errorf("a Poll has handled an event: %d completions at %d, %v", k, n.Now(), err)
	}
	n.RunTo(first)
	if at, ok := n.Next(); !ok || at < first+10*Microsecond {
		t.Errorf("the packet arrives at %d", at)
	}
	n.RunTo(first + Millisecond)
	if _, ok := n.Next(); ok || n.Now() != first+Millisecond {
		t.Errorf("an event is left at %d", n.Now())
	}
	if len(arrived) == 0 || arrived[0] != 0 {
		t.Errorf("ends %v have work, want the first", arrived)
	}
	if k, err := a.Poll(comps); k != 1 || err != nil || comps[0].Token != 1 {
		t.Errorf("%d completions, %v", k, err)
	}
	if n.RunTo(first); n.Now() != first+Millisecond {
		t.Errorf("the clock went back to %d", n.Now())
	}
}
