package shmerr

import (
	"testing"

	"libshmem"
)

func TestPEs(t *testing.T) {
	for _, c := range []struct {
		pes  []libshmem.PE
		want string
	}{
		{[]libshmem.PE{3}, "PE 3"},
		{[]libshmem.PE{1, 2}, "PEs 1, 2"},
		{[]libshmem.PE{1, 2, 3}, "PEs 1-3"},
		{[]libshmem.PE{0, 2, 3, 4, 9, 11, 12}, "PEs 0, 2-4, 9, 11, 12"},
	} {
		if got := PEs(c.pes); got != c.want {
			t.Errorf("PEs(%v) = %q, want %q", c.pes, got, c.want)
		}
	}
}
