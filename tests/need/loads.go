package need

import "os"

// A load is how much of something a test does: on each push, and in make test-full.
type load struct {
	push, full int
	what       string
}

// The loads that are less on each push, so that make test takes ten minutes. It is all that make
// test leaves to make test-full, beside the stages that only scripts/test full has.
var loads = map[string]load{
	"litmus":         {10_000, 100_000, "rounds of tests/c/litmus.c on one node, and between two hosts"},
	"ordering":       {20_000, 100_000, "rounds of tests/c/ordering.c on one node, and between two hosts"},
	"ordering/chaos": {8_000, 40_000, "rounds of tests/c/ordering.c in a network that does as it likes"},
}

// Full reports whether tests do all that they can: scripts/test full sets TESTS=full.
func Full() bool { return os.Getenv("TESTS") == "full" }

// Load is how much a test does, by its name in the table.
func Load(name string) int {
	l, ok := loads[name]
	switch {
	case !ok:
		panic("load " + name + ": tests/need/loads.go has none of this name")
	case Full():
		return l.full
	}
	return l.push
}
