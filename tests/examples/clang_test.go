package examples

import (
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestClang: a program that clang compiles and links runs.
func TestClang(t *testing.T) {
	t.Setenv("CC", need.Command(t, "clang"))
	r := shmemrun(t, nil, "-n", "2", example(t, "ring", "ring-clang"))
	if r.status != 0 || strings.Count(r.stdout, "wrote to me\n") != 2 {
		t.Error(r)
	}
}
