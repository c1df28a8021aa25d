// Package daemons runs the daemons that a test uses, and watches them. A command that waits for a
// dead daemon may have time limits of its own, minutes each; so the death of a daemon ends the
// test, which reports how the daemon ended and the last lines of its log.
package daemons

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// limit is how long daemons may take to start. They take seconds; the machine may be busy.
const limit = 2 * time.Minute

// lines is the number of lines of each log in a report.
const lines = 20

// watcher reads the script's output.
type watcher struct {
	t        testing.TB
	dir      string
	cancel   context.CancelCauseFunc
	ready    chan struct{} // closed when the script says so
	done     chan struct{} // closed at the end of its output
	stopping atomic.Bool   // the test ends the daemons
}

// Start runs a script that starts daemons with the functions of start.sh, then prints "ready", and
// runs until its standard input ends. The logs of a daemon are the files NAME.* in dir. The script
// leads a process group of its own; all processes that it starts must end with it.
//
// The context ends with the test, and when a daemon ends before that: then the test has failed with
// a report, and the context's cause is the report's first line. Every command that waits for a
// daemon needs it.
func Start(t testing.TB, cmd *exec.Cmd, dir string) context.Context {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	w := &watcher{t: t, dir: dir, cancel: cancel, ready: make(chan struct{}), done: make(chan struct{})}
	go w.read(out)
	t.Cleanup(func() {
		w.stopping.Store(true)
		died := ctx.Err() != nil
		if died { // the script may wait for the daemon as well
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		in.Close()
		<-w.done
		if err := cmd.Wait(); err != nil && !died {
			t.Errorf("the daemons' script: %v", err)
		}
		cancel(nil)
	})
	select {
	case <-w.ready:
	case <-ctx.Done():
		t.FailNow()
	case <-time.After(limit):
		cancel(errors.New("the daemons are not ready"))
		t.Fatalf("the daemons are not ready within %v%s", limit, w.logs("*"))
	}
	return ctx
}

// read reports the first daemon that ends unasked. It continues to read, so that the script never
// waits for it.
func (w *watcher) read(out io.Reader) {
	defer close(w.done)
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		words := strings.Fields(scanner.Text())
		switch {
		case slices.Equal(words, []string{"ready"}):
			close(w.ready)
		case len(words) == 3 && words[0] == "ended":
			w.report(words[1]+" ended unasked, "+how(words[2]), words[1])
		default:
			w.report(fmt.Sprintf("the daemons' script says %q", scanner.Text()), "*")
		}
	}
	w.report("the daemons' script ended unasked", "*")
}

func (w *watcher) report(what, name string) {
	if !w.stopping.Swap(true) {
		w.t.Errorf("%s%s", what, w.logs(name))
		w.cancel(errors.New(what))
	}
}

// how describes a shell's exit status.
func how(status string) string {
	if n, err := strconv.Atoi(status); err == nil && n > 128 {
		return fmt.Sprintf("by signal %d (%v)", n-128, syscall.Signal(n-128))
	}
	return "with status " + status
}

// logs has the end of each log of a daemon.
func (w *watcher) logs(name string) string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(w.dir, name+".*")) // the pattern is well formed
	for _, file := range files {
		if ext := filepath.Ext(file); ext != ".out" && ext != ".log" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		fmt.Fprintf(&b, "\n%s ends:\n%s", filepath.Base(file), strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return b.String()
}
