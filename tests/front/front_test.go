package front

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
func TestSettle(t *testing.T) { run(t, "settle", "gpu", "order") }

// TestLooks: notification counters never go back by an older look, and what is fetched, set and
// waited for is a value that the counter has had.
func TestLooks(t *testing.T) { run(t, "looks") }

// TestUntil: a wait that returns a value returns the one that ended it.
func TestUntil(t *testing.T) { run(t, "until", "until") }
