package device

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

var (
	emulated  = map[string]string{} // programs that are built, by name
	tryHeader []string              // flags for the header that they begin with
)

// emulate builds a program of tests/gpu for the host, once.
func emulate(t *testing.T, build, name string) string {
	t.Helper()
	if emulated[name] != "" {
		return emulated[name]
	}
	folder := filepath.Join(build, "device")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, name+"-emulated")
	flags := emulatedFlags(build)
	if len(emulated) == 0 {
		tryHeader = cc.Header(t, folder, "../gpu/try.h", flags...)
	}
	cc.Run(t, cc.CXX(), slices.Concat(flags, tryHeader, []string{"-o", program, "-x", "c++", "../gpu/" + name + ".cu",
		"-x", "none", "-L" + filepath.Join(build, "lib"), "-lshmem", "-lpthread"})...)
	emulated[name] = program
	return program
}

// job returns the command of a job. The kernel prefers its processes to those of busy programs, as
// tests/all has it for all tests that run nothing but jobs: the PEs wait for each other some thousand
// times, and the compilers of this package's tests need no such preference.
func job(build string, args ...string) *exec.Cmd {
	return exec.Command("../../scripts/prompt", append([]string{filepath.Join(build, "bin", "shmemrun")}, args...)...)
}

// emulatedFlags returns what g++ compiles these programs with. Each push tries fewer types, and does
// not optimise: that takes as long as the header, and saves less.
func emulatedFlags(build string) []string {
	less := []string{"-O1"}
	if need.Left("emulated") {
		less = []string{"-O0", "-DFEWER_TYPES"}
	}
	// nvcc's pragmas mean nothing here.
	return append(less, "-DEMULATED", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
		"-I../../device", "-I../../include", "-Iemulated", "-I"+filepath.Join(build, "gen", "gpu"))
}

// TestEmulated runs the programs that test each name of the device interface as programs of the
// host: on one node, where PEs reach each other directly, and between hosts, where all operations
// go through the rings and the proxies.
//
// Together they call each name of the table.
func TestEmulated(t *testing.T) {
	build := need.Build(t)
	called := filepath.Join(t.TempDir(), "called")
	t.Setenv("CALLED", called)
	names := append(slices.Clone(calling), "litmus", "eager", "notify")
	ran := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ran++
			program := emulate(t, build, name)
			var more []string
			ways := [][]string{
				{"-n", "2"},
				{"-n", "2", "--hosts", "2", "-x", "SHMEM_PROVIDER=tcp"},
			}
			if name == "eager" && need.Left("eager") {
				ways = ways[:1] // TestEager goes between hosts
				more = []string{"few"}
			}
			for _, way := range ways {
				runEmulated(t, build, slices.Concat(way, []string{program}, more)...)
			}
		})
	}
	t.Run("exit", func(t *testing.T) {
		ran++
		cmd := job(build, "-n", "2", "--timeout", "60", emulate(t, build, "singles"), "exit")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%v, want status 7\n%s", err, out)
		}
	})
	if ran == len(names)+1 { // -run may leave some out
		need.Called(t, called, filepath.Join(build, "gen", "gpu", "zz_names.txt"), spec.Shmem.KernelNames(), need.Left("emulated"))
	}
}

// In TestEmulatedVariables a kernel sends its own variables, in pieces, over a network that keeps
// no order. The test does not check that a signal stays behind them: one ring is served in order,
// and so are messages to one PE, with and without the fence between the two.
func TestEmulatedVariables(t *testing.T) {
	build := need.Build(t)
	program := emulate(t, build, "rma")
	runEmulated(t, build, "-n", "2", "--chaos", "7,delay=300us", "-x", "SHMEM_PROVIDER=tcp", program, "variables")
}

// TestShortReductions runs rounds of reductions in lines and in buffers by as many PEs as a thread
// loads lines of at once, by one fewer and one more, and by PEs that need rings, which have no
// lines.
func TestShortReductions(t *testing.T) {
	build := need.Build(t)
	program := emulate(t, build, "short")
	for _, way := range []struct {
		pes    int
		rounds string
		more   []string
	}{
		{pes: 3, rounds: "400"},
		{pes: 4, rounds: "200"},
		{pes: 5, rounds: "200"},
		{pes: 2, rounds: "16", more: []string{"--hosts", "2", "-x", "SHMEM_PROVIDER=tcp"}},
	} {
		runEmulatedBy(t, build, way.pes, slices.Concat([]string{"--timeout", "30", "-n", strconv.Itoa(way.pes)}, way.more, []string{program, way.rounds})...)
	}
}

// runEmulated runs a program as two PEs, each of which reports that all checks have passed.
func runEmulated(t *testing.T, build string, args ...string) {
	t.Helper()
	runEmulatedBy(t, build, 2, slices.Concat([]string{"--timeout", "300"}, args)...)
}

// runEmulatedBy runs a program as so many PEs, each of which reports that all checks have passed.
func runEmulatedBy(t *testing.T, build string, pes int, args ...string) {
	t.Helper()
	cmd := job(build, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
	out, err := cmd.CombinedOutput()
	if err != nil || !passed(out, pes) {
		t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// passed reports whether so many PEs say that all their checks have passed.
func passed(out []byte, pes int) bool {
	return bytes.Count(out, []byte(" passed, 0 failed")) == pes
}
