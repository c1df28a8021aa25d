package seeded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// The time limits of a test and of its build on a busy machine.
const (
	testLimit  = 6 * time.Minute
	buildLimit = 15 * time.Minute
)

// outcome is the outcome of a test.
type outcome struct {
	verdict verdict
	out     string
	took    time.Duration
}

type verdict int

const (
	passed verdict = iota
	failed
	hung
	skipped
	unusable // the test does not exist, or does not build
)

func (v verdict) String() string {
	return [...]string{"passed", "failed", "did not come to an end", "was skipped", "could not be run"}[v]
}

// expired matches the output of a test that has reached its time limit, or whose job has reached
// that of shmemrun: at least some seconds, because tests of shmemrun itself have shorter limits.
var expired = regexp.MustCompile(`panic: test timed out after|shmemrun: timeout of [0-9.]+(m\d+s|s) |its own limit has passed|subprocess.TimeoutExpired`)

// refused matches a compiler's errors in a program that a test builds: the compiler noticed the
// mistake and not the test.
var refused = regexp.MustCompile(`(?m)^\s*\S+\.(h|c|cu|cuh|cc|cpp):\d+:\d+: error: `)

// try runs the test in a tree that has been built.
func (t *test) try(tree, build string, limit time.Duration, variables ...string) outcome {
	start := time.Now()
	out, err := command(tree, build, limit, t.argv(build), append(t.variables(tree, build), variables...)...)
	return outcome{t.judge(out, err), out, time.Since(start)}
}

func (t *test) argv(build string) []string {
	if t.py == "" {
		return []string{"go", "test", "-count=1", "-failfast", "-vet=off", "-v", "-timeout", (testLimit + time.Minute).String(), "-run", t.run, t.pkg}
	}
	pytest := []string{"python3", "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider", "-c", "python/pyproject.toml", t.py, "-k", t.name}
	if t.pes == nil {
		return pytest
	}
	limit := fmt.Sprint(int((testLimit - time.Minute).Seconds()))
	return append(append([]string{filepath.Join(build, "bin", "shmemrun"), "--timeout", limit}, t.pes...), append([]string{"--"}, pytest...)...)
}

// judge distinguishes a test that has failed from one that was never run.
func (t *test) judge(out string, err error) verdict {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.DeadlineExceeded), err != nil && expired.MatchString(out):
		return hung
	case err != nil && !errors.As(err, &exit):
		return unusable
	case err != nil && refused.MatchString(out):
		return unusable
	case t.py != "" && (strings.Contains(out, "no tests ran") || strings.Contains(out, "ImportError while loading")):
		return unusable
	case t.py != "" && err == nil && !strings.Contains(out, " passed"):
		return skipped
	case t.py == "" && (strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") || !strings.Contains(out, "=== RUN ")):
		return unusable
	case t.py == "" && strings.Contains(out, "--- SKIP: ") && err == nil:
		return skipped
	case err != nil:
		return failed
	}
	return passed
}

// command runs a command in a tree, and ends it with all processes that it has started.
func command(tree, build string, limit time.Duration, argv []string, variables ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = tree
	cmd.Env = append(environment(tree, build), variables...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return end(cmd.Process.Pid) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}

// lastWords is how long a command may still print when its limit has passed.
const lastWords = 10 * time.Second

// end ends a command. The test that started a job prints the job's output once shmemrun has ended,
// so the signal goes to shmemrun first. Without shmemrun, a Go test prints its stacks.
func end(pid int) error {
	all := descendants(pid)
	if !ask(all, "shmemrun", syscall.SIGTERM) {
		ask(all, ".test", syscall.SIGQUIT)
	}
	for begun := time.Now(); time.Since(begun) < lastWords && all[pid] == started(pid); {
		time.Sleep(50 * time.Millisecond)
	}
	maps.Copy(all, descendants(pid))
	for one, at := range all {
		if at != "-" && at == started(one) {
			_ = syscall.Kill(one, syscall.SIGKILL)
		}
	}
	return os.ErrProcessDone
}

// ask sends a signal to the processes whose program has such a name, and reports whether there are
// any.
func ask(all map[int]string, program string, signal syscall.Signal) bool {
	found := false
	for one := range all {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", one))
		if strings.HasSuffix(name, program) {
			found = syscall.Kill(one, signal) == nil || found
		}
	}
	return found
}

// descendants returns a process and all processes that it has started, each with the moment at
// which it began. Tests put their processes into groups of their own, so that a signal to one group
// would leave a job running.
func descendants(pid int) map[int]string {
	list, all := []int{pid}, map[int]string{pid: started(pid)}
	for i := 0; i < len(list); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", list[i]))
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			for _, child := range strings.Fields(string(text)) {
				if n, err := strconv.Atoi(child); err == nil {
					list, all[n] = append(list, n), started(n)
				}
			}
		}
	}
	return all
}

// started returns when a process began, which distinguishes it from a later one of its number; "-":
// it has ended.
func started(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return "-"
	}
	return fields[19]
}

// environment returns the environment of the caller, without settings of the library.
func environment(tree, build string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SHMEM_") {
			env = append(env, v)
		}
	}
	return append(env, "BUILD="+build, "PWD="+tree, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -buildmode=pie"))
}

// variables returns the additional variables of a test: for Python the paths of the package and of
// the modules that set-up has installed.
func (t *test) variables(tree, build string) []string {
	if t.full {
		return []string{"TESTS=full"}
	}
	if t.py == "" {
		return nil
	}
	modules, _ := filepath.Glob(filepath.Join(build, "tools", "python-*", "lib"))
	return []string{
		"PYTHONPATH=" + strings.Join(append([]string{filepath.Join(tree, "python")}, modules...), ":"),
		"PYTHONDONTWRITEBYTECODE=1",
	}
}

// bases are the outcomes of the tests of the list without a mistake, each determined once.
var bases sync.Map

// base runs a test in the tree as it is.
func (t *test) base(tree, build string) outcome {
	once, _ := bases.LoadOrStore(t.key(), sync.OnceValue(func() outcome { return t.try(tree, build, testLimit) }))
	return once.(func() outcome)()
}

// catch seeds a defect and returns why its test does not notice it as the row says; "": it does.
func (d *defect) catch(t *testing.T, build string) string {
	base := d.by.base(root(t), build)
	if base.verdict == skipped {
		t.Skipf("this machine lacks what the test needs:\n%s", tail(base.out))
	} else if base.verdict != passed {
		return fmt.Sprintf("without the defect the test %s:\n%s", base.verdict, tail(base.out))
	} else if strings.Contains(base.out, "no tests to run") {
		return fmt.Sprintf("there is no test %s:\n%s", d.by.run, tail(base.out))
	}
	limit, variables := testLimit, []string(nil)
	if d.hangs { // long enough for the test to end without the defect
		limit = min(limit, 20*time.Second+3*base.took)
		variables = []string{"SHMEM_TIMEOUT=5"}
	}
	tree := plant(t, d, build)
	built := build
	if len(d.by.needs) > 0 {
		built = filepath.Join(tree, "build")
	}
	start := time.Now()
	if d.gen {
		if out, err := command(tree, built, buildLimit, []string{"go", "run", "./capi/gen"}); err != nil {
			return fmt.Sprintf("files cannot be generated: %v\n%s", err, tail(out))
		}
	}
	if strings.HasPrefix(d.file, "abi/") { // go build looks at the sum in zz_layouts.go, not at the header
		if out, err := command(tree, built, buildLimit, []string{"go", "run", "./abi/gen"}); err != nil {
			return fmt.Sprintf("layouts cannot be generated: %v\n%s", err, tail(out))
		}
	}
	if targets := d.targets(); len(targets) > 0 {
		argv := []string{"make", "--no-print-directory", "-s", "-j2", "BUILD=build"}
		for _, target := range targets {
			argv = append(argv, "build/"+target)
		}
		if out, err := command(tree, built, buildLimit, argv); err != nil {
			return fmt.Sprintf("it does not build: %v\n%s", err, tail(out))
		}
	}
	building := time.Since(start)
	o := d.by.try(tree, built, limit, variables...)
	if *reports != "" {
		if err := os.WriteFile(filepath.Join(*reports, strings.ReplaceAll(d.id, "/", "+")), []byte(o.out), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Logf("built in %.0f s; the test %s in %.0f s (without the defect %.0f s)", building.Seconds(), o.verdict, o.took.Seconds(), base.took.Seconds())
	switch {
	case o.verdict == unusable:
		return "the test cannot be run with the defect, or does not build:\n" + tail(o.out)
	case o.verdict == hung && !d.hangs:
		return "the test did not come to an end, which the row does not say:\n" + tail(o.out)
	case o.verdict == failed && d.hangs:
		return "the row says that the test does not come to an end, and it failed:\n" + tail(o.out)
	case o.verdict != failed && o.verdict != hung:
		return fmt.Sprintf("NOT CAUGHT: the test %s:\n%s", o.verdict, tail(o.out))
	}
	if !regexp.MustCompile(d.says).MatchString(o.out) {
		return fmt.Sprintf("the test failed for another reason than %q:\n%s", d.says, tail(o.out))
	}
	return ""
}

// tail returns the end of a test's output.
func tail(out string) string {
	const most = 60
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// built returns the folder of make's output, if a row needs that.
func built(t *testing.T) string { return need.Build(t) }
