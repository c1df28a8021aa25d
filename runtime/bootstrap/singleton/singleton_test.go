package singleton

import "testing"

func TestAlone(t *testing.T) {
	b := New()
	if b.Rank() != 0 || b.Size() != 1 || b.Name() != "singleton" {
		t.Errorf("%s: PE %d of %d", b.Name(), b.Rank(), b.Size())
	}
	mine := []byte("mine")
	all, err := b.Allgather(mine)
	if err != nil || len(all) != 1 || string(all[0]) != "mine" {
		t.Fatalf("allgather: %q, %v", all, err)
	}
	mine[0] = 'x'
	if string(all[0]) != "mine" {
		t.Error("the result shares the contribution's memory")
	}
	if err := b.Barrier(); err != nil {
		t.Errorf("barrier: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
