package front

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"libshmem/tests/cc"
)

// flags are those of the Makefile for the front, as far as they change its code.
var flags = []string{
	"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-fno-strict-aliasing", "-fwrapv", "-fvisibility=hidden",
	"-I../../include", "-I../../abi", "-I../../device", "-I../../capi/front",
}

// run compiles a program of testdata with units of the front, and runs it. What the units need in
// other cases is dropped by the linker, or is one of the names that the program calls unreached.
func run(t *testing.T, name string, units ...string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("testdata/interleave.h steps as x86 does")
	}
	program := filepath.Join(t.TempDir(), name)
	args := append([]string{"-g", "-ffunction-sections", "-Wl,--gc-sections", "-o", program, "testdata/" + name + ".c"}, flags...)
	for _, unit := range units {
		args = append(args, "../../capi/front/"+unit+".c")
	}
	cc.Run(t, cc.C(), args...)
	out, err := exec.Command(program).CombinedOutput()
	if err != nil || !regexp.MustCompile(`[1-9]\d* passed, 0 failed\n$`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSettle: quiet and fence of a thread cover the copies of a GPU that were started before,
// whatever another thread settles meanwhile.
func TestSettle(t *testing.T) { run(t, "settle", "gpu", "quiet") }

// TestLooks: notification counters never go back by an older look, and what is fetched, set and
// waited for is a value that the counter has had.
func TestLooks(t *testing.T) { run(t, "looks") }

// TestUntil: a wait that returns a value returns the one that ended it.
func TestUntil(t *testing.T) { run(t, "until", "until") }

// TestReceive: a message that arrives just before a PE is lost is received, from that PE or from
// any, and the loss ends the next receive.
func TestReceive(t *testing.T) { run(t, "receive", "receive", "send", "failure") }

// TestKnown: that all PEs know the losses of one job does not count in the next job of the process.
func TestKnown(t *testing.T) { run(t, "known") }

// TestCollectiveModel: what the model of collective calls chooses between nodes, over tcp and on EFA.
func TestCollectiveModel(t *testing.T) { run(t, "model", "model") }

// TestFar: the core gets each operation on a PE of another node whole, and as often as it answers
// that it has no room.
func TestFar(t *testing.T) { run(t, "far", "remote") }

// TestStreams: each call on a stream has the core queue its operation, with its arguments.
func TestStreams(t *testing.T) { run(t, "streams", "stream") }

// TestWriters: between a store and the look for sleepers behind it, each writer has a barrier for
// the compiler. It reads what the last passes over trees leave, because a compiler that moves the
// store is rare, and the barrier leaves no instruction.
func TestWriters(t *testing.T) {
	if exec.Command(cc.C(), "-fdump-tree-optimized=/dev/null", "-E", "-x", "c", "/dev/null").Run() != nil {
		t.Skip("the compiler is not gcc: it does not show its trees")
	}
	dump := filepath.Join(t.TempDir(), "trees")
	args := append([]string{"-fPIC", "-S", "-fdump-tree-optimized=/dev/stdout", "-o", dump, "testdata/writers.c"}, flags...)
	out, err := exec.Command(cc.C(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var (
		barrier = regexp.MustCompile(`^ +__asm__ __volatile__\("" : +: +: "memory"\)`)
		store   = regexp.MustCompile(`^ +(?:\*|MEM|memcpy|(?:_\d+ = )?__atomic_(?:store|fetch|exchange))`)
		look    = regexp.MustCompile(`^ +_\d+ = __atomic_load_4 `)
		writers = 0
	)
	for _, function := range strings.Split(string(out), ";; Function ")[1:] {
		name, body, _ := strings.Cut(function, " ")
		last := "nothing"
		for line := range strings.Lines(body) {
			switch {
			case store.MatchString(line):
				last = "a store"
			case barrier.MatchString(line) && last == "a store":
				last = "a barrier"
			case look.MatchString(line):
				if last != "a barrier" {
					t.Errorf("%s: before the look for sleepers there is %s, want a store and a barrier\n%s", name, last, body)
				}
				writers++
			}
		}
	}
	if want := strings.Count(string(out), ";; Function "); writers < want || want < 10 {
		t.Errorf("%d functions look for sleepers %d times", want, writers)
	}
}
