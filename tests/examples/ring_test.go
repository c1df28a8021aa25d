package examples

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestRing(t *testing.T) {
	ring := example(t, "ring", "ring")
	for _, c := range []struct {
		n    int
		args []string
	}{
		{1, nil}, {2, nil}, {4, nil}, {4, []string{"--hosts", "2"}},
	} {
		t.Run(fmt.Sprint(c.n, c.args), func(t *testing.T) {
			r := shmemrun(t, nil, append(append([]string{"-n", strconv.Itoa(c.n)}, c.args...), ring)...)
			if r.status != 0 {
				t.Fatal(r)
			}
			for pe := range c.n {
				line := fmt.Sprintf("PE %d of %d: PE %d wrote to me\n", pe, c.n, (pe+c.n-1)%c.n)
				if strings.Count(r.stdout, line) != 1 {
					t.Errorf("no line %q in\n%v", line, r)
				}
			}
		})
	}
}

// TestRingChecks removes the put: the example's check must then fail.
func TestRingChecks(t *testing.T) {
	broken := example(t, "ring", "ring-without-put", filepath.Join("testdata", "no_put.c"))
	r := shmemrun(t, nil, "-n", "2", broken)
	if r.status == 0 || !strings.Contains(r.stderr, "got -1, expected") {
		t.Fatal(r)
	}
}
