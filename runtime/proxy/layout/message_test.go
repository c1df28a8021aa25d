package layout

import "testing"

func TestEpochToken(t *testing.T) {
	first, second := &State{Me: 5}, &State{Me: 3<<ContextShift | 5}
	if first.EpochToken(4) == first.EpochToken(5) {
		t.Error("two epochs have one token")
	}
	if first.EpochToken(4) == second.EpochToken(4) {
		t.Error("two contexts have one token")
	}
	if again := (&State{Me: 3 << ContextShift}).EpochToken(4); again != second.EpochToken(4) {
		t.Error("tokens depend on the PE")
	}
	if n := first.EpochToken(1<<EpochBits - 1); n != 0 {
		t.Errorf("the epoch of which nothing is said has token %#x", n)
	}
}
