package run

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

const defaultLimit = 3 * time.Minute

// counted is part of the line with which every program ends, on at least one PE.
var counted = regexp.MustCompile(`\b(\d+) passed, (\d+) failed\b`)

func TestPrograms(t *testing.T) {
	build := need.Build(t)
	for _, name := range programNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // PEs wait for each other half of the time
			for _, c := range configurations {
				if p := programs[name]; p.runsIn(c) && !leaves(name, c) {
					t.Run(c.name, func(t *testing.T) { runProgram(t, build, name, p, c) })
				}
			}
		})
	}
}

// leaves reports whether only make test-full runs a program in a configuration.
func leaves(name string, c configuration) bool {
	row, ok := onPush[name]
	if !ok {
		row = onPush[""]
	}
	return !slices.Contains(row, c.name) && need.Left("configurations")
}

// programNames returns the names of tests/c, and of the programs that are generated.
func programNames(t *testing.T) []string {
	t.Helper()
	names := need.Programs(t)
	for i, source := range names {
		names[i] = strings.TrimSuffix(filepath.Base(source), ".c")
	}
	return names
}

// runsIn reports whether the program runs in a configuration of the table.
func (p program) runsIn(c configuration) bool {
	return (len(p.only) == 0 || slices.Contains(p.only, c.name)) && !(p.hostOnly && c.gpu) && (!c.many || p.many)
}

// runWhole is for make test-full: with it TestWhole takes a quarter of an hour, and
// TestStandstill an hour.
var runWhole = flag.Bool("whole", false, "run TestWhole, the whole conformance suite, and 300 runs of TestStandstill")

// TestWhole runs the programs of the conformance suite with all their lengths, and with every
// number of PEs. TestPrograms has the same functions and types, with fewer lengths and in fewer
// configurations.
func TestWhole(t *testing.T) {
	if !*runWhole {
		t.Skip("takes a quarter of an hour (-whole)")
	}
	build := need.Build(t)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		p := programs[name]
		if p.whole == nil {
			continue
		}
		p.args, p.argsIn, p.limit = p.whole, nil, 10*time.Minute
		t.Run(name, func(t *testing.T) {
			for _, c := range wholeConfigurations() {
				t.Run(c.name, func(t *testing.T) { runProgram(t, build, name, p, c) })
			}
		})
	}
}

// TestTable finds rows that no longer match anything.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, c := range slices.Concat(configurations, stubbed(true, stubPEs)) {
		known[c.name] = true
	}
	there := programNames(t)
	for name, row := range onPush {
		if name != "" && !slices.Contains(there, name) {
			t.Errorf("onPush has a row for %s, which is no program", name)
		}
		for _, c := range row {
			i := slices.IndexFunc(configurations, func(at configuration) bool { return at.name == c })
			if i < 0 || name != "" && !programs[name].runsIn(configurations[i]) {
				t.Errorf("onPush runs %s in %s, which does not exist or never runs it", name, c)
			}
		}
	}
	for _, name := range there {
		p := programs[name]
		if !slices.ContainsFunc(configurations, func(c configuration) bool { return p.runsIn(c) && (need.Full() || !leaves(name, c)) }) {
			t.Errorf("no push runs %s", name)
		}
	}
	for name, p := range programs {
		if !slices.Contains(there, name) {
			t.Errorf("programs has a row for %s, which is no program", name)
		}
		for _, c := range append(slices.Collect(maps.Keys(p.argsIn)), p.only...) {
			if !known[c] {
				t.Errorf("program %s names the configuration %s, which does not exist", name, c)
			}
		}
	}
}

func runProgram(t *testing.T, build, name string, p program, c configuration) {
	if c.namespaces {
		need.Namespaces(t)
	}
	limit := p.limit
	if limit == 0 {
		limit = defaultLimit
	}
	base := filepath.Join(build, c.build)
	argv := []string{filepath.Join(base, "bin", "shmemrun"), "--timeout", strconv.Itoa(int(limit.Seconds()))}
	argv = append(argv, c.args...)
	argv = append(argv, filepath.Join(base, "tests", name))
	args, ok := p.argsIn[c.name]
	if !ok {
		args = p.args
	}
	argv = append(argv, args...)
	if c.build == "tsan" && !smallRandomisation() {
		argv = append([]string{"setarch", "-R"}, argv...)
	}

	env := append(os.Environ(), sanitizerOptions(t)...)
	if c.gpu {
		env = append(env, "SHMEM_HEAP=device", "FAKE_CUDA=works=1", "LD_LIBRARY_PATH="+cudatest.Build(t))
	}
	if c.nic != "" {
		// And with streams that execute atomic operations themselves.
		env = append(env, "FAKE_CUDA=works=1 attribute148=1", "SHMEM_GPU_NET="+c.nic)
	}
	if c.network != nil {
		env = append(env, c.network.Env(stub.Build(t))...)
	}
	if out, err := launch(limit, argv, env); err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(argv, " "), excerpt(out))
	}
}

// launch runs shmemrun, which argv names with this limit, and judges the program's output.
func launch(limit time.Duration, argv, env []string) (string, error) {
	// The launcher has its own limit; ours is for a launcher that hangs.
	ctx, cancel := context.WithTimeout(context.Background(), limit+15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.New("shmemrun did not end, although its own limit has passed")
	}
	if err == nil {
		err = judge(out.String())
	}
	return out.String(), err
}

// judge reads the counts: a program that checked nothing has not passed.
func judge(out string) error {
	lines := counted.FindAllStringSubmatch(out, -1)
	if lines == nil {
		return errors.New("no line says how many checks passed")
	}
	for _, m := range lines {
		if m[1] == "0" || m[2] != "0" {
			return fmt.Errorf("a PE reports %q", strings.TrimSpace(m[0]))
		}
	}
	return nil
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		out string
		ok  bool
	}{
		{"12 passed, 0 failed\n", true},
		{"[1] rma: 12 passed, 0 failed\n[0] 3 passed, 0 failed\n", true},
		{"[1] rma: 12 passed, 0 failed\n[0] 3 passed, 1 failed\n", false},
		{"0 passed, 0 failed\n", false},
		{"", false},
	} {
		if err := judge(c.out); (err == nil) != c.ok {
			t.Errorf("judge(%q) = %v", c.out, err)
		}
	}
}

// smallRandomisation reports whether gcc's ThreadSanitizer can map its shadow: with more than 28
// bits of address randomisation it sometimes cannot.
func smallRandomisation() bool {
	b, err := os.ReadFile("/proc/sys/vm/mmap_rnd_bits")
	if err != nil {
		return true
	}
	bits, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return err != nil || bits <= 28
}

// sanitizerOptions: the first report ends a PE at once, without SIGABRT, for
// which the Go runtime in the process has a handler of its own.
func sanitizerOptions(t *testing.T) []string {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"ASAN_OPTIONS=abort_on_error=0 exitcode=66",
		"LSAN_OPTIONS=print_suppressions=0 suppressions=" + filepath.Join(here, "lsan.supp"),
		"TSAN_OPTIONS=halt_on_error=1 abort_on_error=0 atexit_sleep_ms=50 exitcode=66 suppressions=" + filepath.Join(here, "tsan.supp"),
	}
}

// excerpt returns the most useful part of the output: the first report of a sanitizer, else the
// end.
func excerpt(out string) string {
	const most = 60
	all := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for i, line := range all {
		if strings.Contains(line, "WARNING: ThreadSanitizer") || strings.Contains(line, "ERROR: AddressSanitizer") {
			return strings.Join(all[i:min(len(all), i+most)], "\n")
		}
	}
	return strings.Join(all[max(0, len(all)-most):], "\n")
}
