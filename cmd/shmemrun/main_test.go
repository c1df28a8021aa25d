package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"libshmem/tests/need"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmemrun": main, "pe": pe})
}

// mark is a variable that every process of one script has, and no other.
const mark = "SHMEMRUN_TEST"

func TestScripts(t *testing.T) { runScripts(t, "testdata") }

func TestNamespaceScripts(t *testing.T) {
	need.Namespaces(t)
	runScripts(t, filepath.Join("testdata", "namespaces"))
}

func runScripts(t *testing.T, dir string) {
	if signal.Ignored(syscall.SIGHUP) {
		// Under nohup, which shmemrun rightly respects. A signal that is handled here is at its
		// default in processes that are started from here.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(mark, env.WorkDir)
			// Else every program that the race detector watches takes a second to end.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":  status,
			"again":   again,
			"signal":  signalled,
			"nothing": nothing,
			"idle":    idle,
			"gone":    gone,
		},
	})
}

// status N COMMAND ARGS: run it and demand exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	demand(ts, ts.Exec(args[1], args[2:]...), want)
}

// again N PATTERN COMMAND ARGS: as status, and an output matches PATTERN. A job that ends
// gives its PEs a second or two, in which a busy machine may not let them say all: then
// it runs again, at most ten times.
func again(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: again N PATTERN COMMAND ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for range 10 {
		err := ts.Exec(args[2], args[3:]...)
		if pattern.MatchString(ts.ReadFile("stdout")) || pattern.MatchString(ts.ReadFile("stderr")) {
			demand(ts, err, want)
			return
		}
	}
	ts.Fatalf("ten times nothing matches %s", args[1])
}

func demand(ts *testscript.TestScript, err error, want int) {
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			got = 128 + int(ws.Signal())
		}
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// signal N SIGNALS FILES COMMAND ARGS: start it, wait until the FILES (with
// commas between them) exist, send the signals, and demand exit status N.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signal N SIGNALS FILES COMMAND ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := command(ts, args[3], args[4:])
	said := new(copied)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), io.MultiWriter(said, ts.Stderr())
	ts.Check(cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	for file := range strings.SplitSeq(args[2], ",") {
		eventually(ts, file+" exists", func() error { _, err := os.Stat(ts.MkAbs(file)); return err })
	}
	before := syscall.Signal(0)
	for s := range strings.SplitSeq(args[1], ",") {
		n, err := strconv.Atoi(s)
		ts.Check(err)
		// The kernel merges signals that come while one is not yet taken.
		switch before {
		case 0:
		case syscall.SIGTSTP:
			eventually(ts, "shmemrun is stopped", func() error {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
				if err == nil && !strings.Contains(string(stat), ") T ") {
					err = errors.New(string(stat))
				}
				return err
			})
		default:
			taken := fmt.Sprintf("got signal %d ", before)
			eventually(ts, taken, func() error {
				if text := said.String(); !strings.Contains(text, taken) {
					return errors.New(text)
				}
				return nil
			})
		}
		before = syscall.Signal(n)
		ts.Check(cmd.Process.Signal(before))
	}
	demand(ts, cmd.Wait(), want)
}

// copied keeps the bytes that are written.
type copied struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *copied) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *copied) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// command prepares a command in the script's directory and environment.
func command(ts *testscript.TestScript, name string, args []string) *exec.Cmd {
	path, err := lookPath(ts, name)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Args[0] = name
	cmd.Dir = ts.Getenv("WORK")
	for _, v := range []string{mark, "GORACE", "PATH", "TMPDIR"} {
		cmd.Env = append(cmd.Env, v+"="+ts.Getenv(v))
	}
	return cmd
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

func eventually(ts *testscript.TestScript, what string, cond func() error) {
	deadline := time.Now().Add(time.Minute)
	for {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it never came to this: %s: %v", what, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// nothing [FILE]: no process of the script is left, zombies included, and no
// namespace of the shmemrun whose process number is in FILE.
func nothing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: nothing [FILE]")
	}
	eventually(ts, "no process is left", func() error { return noProcess(ts.Getenv(mark)) })
	if len(args) == 1 {
		pid := strings.TrimSpace(ts.ReadFile(args[0]))
		eventually(ts, "no namespace is left", func() error {
			left, err := filepath.Glob("/run/netns/shmemrun-" + pid + "-*")
			if len(left) > 0 {
				err = fmt.Errorf("left over: %v", left)
			}
			return err
		})
	}
}

// gone FILES: the files whose names are in FILES have gone, or go.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: gone FILES")
	}
	for _, file := range args {
		name := ts.ReadFile(file)
		eventually(ts, name+" is gone", func() error {
			if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("it is there (error %v)", err)
			}
			return nil
		})
	}
}

func noProcess(value string) error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil {
			continue // it ended meanwhile
		}
		if strings.Contains("\x00"+string(env), "\x00"+mark+"="+value+"\x00") {
			cmd, _ := os.ReadFile(dir + "/cmdline")
			return fmt.Errorf("process %s runs %q", filepath.Base(dir), cmd)
		}
		// A zombie has no environment. Ours are named pe, and those of other scripts that run now
		// do not last.
		stat, err := os.ReadFile(dir + "/stat")
		if err == nil && strings.Contains(string(stat), " (pe) Z ") {
			return fmt.Errorf("process %s is a zombie", filepath.Base(dir))
		}
	}
	return nil
}

// idle MILLISECONDS COMMAND ARGS: start it, wait for the file running.0, and demand that the
// command itself uses no more processor time in a second, once it has come to rest.
func idle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: idle MILLISECONDS COMMAND ARGS")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := command(ts, args[1], args[2:])
	ts.Check(cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	used := func() int {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		ts.Check(err)
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, err := strconv.Atoi(f[11])
		ts.Check(err)
		system, err := strconv.Atoi(f[12])
		ts.Check(err)
		return (user + system) * 10 // the kernel counts in hundredths for us
	}
	eventually(ts, "the PEs run", func() error { _, err := os.Stat(ts.MkAbs("running.0")); return err })
	eventually(ts, fmt.Sprintf("at most %d ms of processor time in a second", limit), func() error {
		before := used()
		time.Sleep(time.Second)
		if ms := used() - before; ms > limit {
			return fmt.Errorf("%d ms", ms)
		}
		return nil
	})
}
