package failure

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// limit is how long a job may take. Its events take milliseconds; the machine may be busy.
const limit = 2 * time.Minute

// TestMain compiles the fake driver and the fake NICs once.
func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }

// compile builds a program of testdata once.
func compile(t *testing.T, name string, flags ...string) (shmemrun, program string) {
	t.Helper()
	build := need.Build(t)
	return filepath.Join(build, "bin", "shmemrun"), cc.Program(t, build, filepath.Join("testdata", name+".c"), flags...)
}

// job is a running job.
type job struct {
	t    *testing.T
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	done chan struct{}
}

func (j *job) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.Write(p)
}

func (j *job) output() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.String()
}

// start starts shmemrun; env is added to the environment.
func start(t *testing.T, env []string, shmemrun string, args ...string) *job {
	t.Helper()
	j := &job{t: t, done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	j.cmd = exec.CommandContext(ctx, shmemrun, args...)
	j.cmd.Env = append(os.Environ(), env...)
	j.cmd.Stdout, j.cmd.Stderr = j, j
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.cmd.Cancel = func() error { return syscall.Kill(-j.cmd.Process.Pid, syscall.SIGTERM) }
	j.cmd.WaitDelay = 5 * time.Second
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(j.done)
		var exit *exec.ExitError
		if err := j.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Errorf("%v: %v", j.cmd.Args, err)
		}
	}()
	return j
}

// wait waits for its end, and compares its status.
func (j *job) wait(status int) string {
	j.t.Helper()
	<-j.done
	if got := j.cmd.ProcessState.ExitCode(); got != status {
		j.t.Errorf("%v: status %d, want %d\n%s", j.cmd.Args, got, status, j.output())
	}
	return j.output()
}

// says waits until the output matches.
func (j *job) says(pattern string) []string {
	j.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if m := re.FindStringSubmatch(j.output()); m != nil {
			return m
		}
	}
	j.t.Fatalf("%v: nothing says %s\n%s", j.cmd.Args, pattern, j.output())
	return nil
}

// passed counts the PEs that report that all their checks passed.
func passed(t *testing.T, out string) int {
	t.Helper()
	if regexp.MustCompile(`, [1-9]\d* failed`).MatchString(out) {
		t.Errorf("checks failed:\n%s", out)
	}
	return strings.Count(out, " passed, 0 failed")
}

// onGPU returns the environment of a job whose heaps are in the memory of a fake GPU: the CPU
// reaches it, but the library follows the driver.
func onGPU(t *testing.T) []string {
	t.Helper()
	return []string{"SHMEM_HEAP=device", "FAKE_CUDA=works=1", "LD_LIBRARY_PATH=" + cudatest.Build(t)}
}

func options(pes string, more ...string) []string { return append([]string{"-n", pes}, more...) }

func list(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
