package abi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/cc"
)

// library returns the path of a built library.
func library(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("BUILD")
	if dir == "" {
		dir = "build"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	path, err := filepath.Abs(filepath.Join(dir, "lib", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("find %s: %v (run make build)", name, err)
	}
	return path
}

// tool returns the output of a program that must succeed.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, exit.Stderr)
		}
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

// compile builds a C file of testdata and returns the path of the result.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-pthread",
		"-I../../include", "-I../../abi", "-o", out, filepath.Join("testdata", source)}
	tool(t, cc.C(), append(args, flags...)...)
	return out
}

// linked builds a C file of testdata against libshmem.so.
func linked(t *testing.T, source string) string {
	t.Helper()
	return compile(t, source, "-L"+filepath.Dir(library(t, "libshmem.so")), "-lshmem", "-ldl")
}

// A result is the exit status and the output of a program.
type result struct {
	stdout, stderr string
	status         int
}

// start runs a program with the libraries of a directory. Many of these tests look for a program
// that does not end.
func start(t *testing.T, libraries, name string, args ...string) result {
	t.Helper()
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A child that was left behind must not keep the pipes open.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s: still running after %v\n%s%s", filepath.Base(name), limit, stdout.String(), stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// succeeds runs a program that prints `want` and nothing else.
func succeeds(t *testing.T, want, libraries, name string, args ...string) {
	t.Helper()
	r := start(t, libraries, name, args...)
	if r.status != 0 || r.stdout != want || r.stderr != "" {
		t.Errorf("%s: status %d, stdout %q, stderr %q; want 0, %q, nothing",
			filepath.Base(name), r.status, r.stdout, r.stderr, want)
	}
}
