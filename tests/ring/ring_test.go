package ring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// folder has the programs that compile has built, each once for all tests: one for ThreadSanitizer
// takes gcc two seconds.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "ring"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// compile builds testdata/NAME.c and returns the program.
func compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	program := filepath.Join(folder, strings.Join(append([]string{name}, flags...), " "))
	if _, err := os.Stat(program); err != nil {
		compileFile(t, filepath.Join("testdata", name+".c"), program, flags...)
	}
	return program
}

func compileFile(t *testing.T, source, program string, flags ...string) {
	t.Helper()
	args := append([]string{"-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-Itestdata", "-o", program, source}, flags...)
	gcc := exec.CommandContext(t.Context(), "gcc", args...)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", gcc, err, out)
	}
}

// tsan compiles for ThreadSanitizer, which does not understand fences and warns about each;
// memory.h replaces them.
var tsan = []string{"-O1", "-g1", "-fsanitize=thread", "-Wno-tsan", "-DSHMEMI_TSAN", "-DSEEDED_BUGS"}

// command returns a program that does not outlive the test. Each has an alarm of its
// own as well.
func command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(cmd.Environ(), "TSAN_OPTIONS=halt_on_error=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs a program and returns its output and its status.
func run(t *testing.T, program, args string) (string, int) {
	t.Helper()
	cmd := command(t, program, strings.Fields(args)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// good runs a program that must succeed.
func good(t *testing.T, program, args string) string {
	t.Helper()
	start := time.Now()
	out, status := run(t, program, args)
	if status != 0 {
		t.Errorf("%s: status %d\n%s", args, status, out)
	}
	t.Logf("%s: %s, %.1f s", args, strings.TrimSpace(out), time.Since(start).Seconds())
	return out
}

func TestTurns(t *testing.T) {
	good(t, compile(t, "turns"), "")
}

// TestVisible writes the operand of an operation, pushes the operation at once and reads the
// operand at the other end, ten million times.
func TestVisible(t *testing.T) {
	program := compile(t, "threads")
	good(t, program, "1 1 8 4000000 puts")
	good(t, program, "4 2 12 1500000 puts")
}

// TestThreads has many producers, rings that are full all the time, several
// consumers, and each kind of operation.
func TestThreads(t *testing.T) {
	program, rounds := compile(t, "threads"), need.Load("ring")
	for _, of := range []struct {
		rings string
		times int
	}{{"8 4 8", 25}, {"64 1 8", 1}, {"64 4 8", 1}, {"16 2 2", 1}} {
		good(t, program, fmt.Sprintf("%s %d mixed", of.rings, of.times*rounds))
	}
}

func TestThreadSanitizer(t *testing.T) {
	program := compile(t, "threads", tsan...)
	good(t, program, "8 2 8 3000 mixed")
	good(t, program, "32 1 8 300 mixed")
	good(t, program, "8 4 2 300 mixed")
	good(t, program, "1 1 4 20000 puts")
	good(t, compile(t, "turns", tsan...), "")
}

// TestSeededBugs checks that the run above would notice them.
func TestSeededBugs(t *testing.T) {
	program := compile(t, "threads", tsan...)
	for bug, row := range []struct{ what, args string }{
		1: {"slots before their source", "8 2 8 3000 mixed"},
		2: {"no fence", "8 2 8 3000 mixed"},
		3: {"slots given back too early", "1 1 4 20000 puts"},
		4: {"an answer without order", "8 2 8 3000 mixed"},
		5: {"done too early", "8 2 8 3000 mixed"},
	} {
		if bug == 0 {
			continue
		}
		t.Setenv("SEEDED_BUG", strconv.Itoa(bug))
		// The scheduler decides which threads run at the same time: on a busy machine a few runs
		// notice nothing.
		var out string
		var status int
		reported := false
		for runs := 0; runs < 5 && !reported; runs++ {
			out, status = run(t, program, row.args)
			reported = status != 0 && (strings.Contains(out, "ThreadSanitizer: data race") || strings.Contains(out, "producer"))
		}
		if !reported {
			t.Errorf("%s: not reported, status %d\n%s", row.what, status, out)
		}
	}
}

// TestForward has two processes that push into each other's full ring.
func TestForward(t *testing.T) {
	program := compile(t, "forward")
	good(t, program, "8 1000 40 threads")
	if out, status := run(t, program, "8 1000 40 blocking"); status != 3 || !strings.Contains(out, "nothing moves") {
		t.Errorf("consumers that push by themselves: status %d, so the rings were never full\n%s", status, out)
	}
}

// TestRate is for the log; the rate of a shared machine says nothing about the
// code.
func TestRate(t *testing.T) {
	program, millions := compile(t, "rate"), need.Load("ring/rate")
	for _, of := range []string{"1 12 %d 1", "2 12 %d 1", "8 12 %d 1", "8 8 %d 1", "1 12 %d 32", "8 12 %d 32"} {
		good(t, program, fmt.Sprintf(of, millions))
	}
}
