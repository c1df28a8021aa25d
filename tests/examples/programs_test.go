package examples

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/cc"
)

// limit ends a job that hangs; none of them should take more than seconds.
const limit = 3 * time.Minute

var (
	root    = absolute(filepath.Join("..", ".."))
	build   = fromRoot(orElse(os.Getenv("BUILD"), "build"))
	sources = filepath.Join(root, "examples")
	// programs is where this package's own builds of the examples are.
	programs string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "libshmem-examples-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // the result counts, with or without an empty /tmp
	os.Exit(code)
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

func fromRoot(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// compile runs the C compiler; an example must compile without a warning.
func compile(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"}, args...)
	cc.Run(t, cc.C(), args...)
}

// example returns the path of the program name, built from examples/dir the first time. More
// arguments are for the compiler.
func example(t *testing.T, dir, name string, more ...string) string {
	t.Helper()
	program := filepath.Join(programs, name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	lib := filepath.Join(build, "lib")
	if _, err := os.Stat(filepath.Join(lib, "libshmem.so")); err != nil {
		t.Fatalf("find libshmem.so: %v (run make build)", err)
	}
	files, err := filepath.Glob(filepath.Join(sources, dir, "*.c"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list examples/%s: %d files, error %v", dir, len(files), err)
	}
	args := append([]string{"-O2", "-I" + filepath.Join(root, "include"), "-o", program}, more...)
	args = append(args, files...)
	compile(t, append(args, "-L"+lib, "-lshmem")...)
	return program
}

// result is the outcome of a job.
type result struct {
	status int
	stdout string
	stderr string
}

func (r result) String() string {
	return "status " + strconv.Itoa(r.status) + "\nstdout:\n" + r.stdout + "stderr:\n" + r.stderr
}

// shmemrun runs a job and waits for its end. Settings are added to the
// environment.
func shmemrun(t *testing.T, settings []string, args ...string) result {
	t.Helper()
	args = append([]string{"--timeout", strconv.Itoa(int(limit.Seconds()))}, args...)
	return command(t, settings, filepath.Join(build, "bin", "shmemrun"), args...)
}

func command(t *testing.T, settings []string, program string, args ...string) result {
	t.Helper()
	// shmemrun has a limit of its own; this one is for a shmemrun that hangs.
	ctx, cancel := context.WithTimeout(t.Context(), limit+15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), settings...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if _, ended := errors.AsType[*exec.ExitError](err); (err != nil && !ended) || ctx.Err() != nil {
		t.Fatalf("%s %s: %v\n%v", program, strings.Join(args, " "), err, r)
	}
	const timedOut = 124
	if r.status == timedOut {
		t.Fatalf("%s %s: the job hung\n%v", program, strings.Join(args, " "), r)
	}
	return r
}
