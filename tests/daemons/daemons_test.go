package daemons

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// script starts two daemons, which leave their process IDs in their logs.
const script = `. ./start.sh
dir=$1
daemon='echo started; echo $$ >"$0.log"; exec sleep 600'
watched "$dir/first" sh -c "$daemon" "$dir/first"
watched "$dir/second" sh -c "$daemon" "$dir/second"
until [ -s "$dir/first.log" ] && [ -s "$dir/second.log" ]; do sleep 0.01; done
echo ready
read -r _ || true
kill "$(cat "$dir/first.log")" "$(cat "$dir/second.log")"
wait`

// recorder is a test that fails without failing this one.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) FailNow() { panic(r) }

// end ends the test, and returns its report.
func (r *recorder) end() string {
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.failures, "\n")
}

func start(r *recorder, dir, script string) context.Context {
	return Start(r, exec.Command("sh", "-euc", script, "sh", dir), dir)
}

// kill kills a daemon of the script.
func kill(t *testing.T, dir, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: a command that waits ends when a daemon is killed, and the test
// reports the daemon, how it ended, and the end of its logs.
func TestKilled(t *testing.T) {
	r, dir := &recorder{TB: t}, t.TempDir()
	ctx := start(r, dir, script)
	wait := exec.CommandContext(ctx, "sleep", "600")
	if err := wait.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	kill(t, dir, "second")
	if err := wait.Wait(); err == nil || time.Since(began) > limit/2 {
		t.Errorf("the command ends after %v: %v", time.Since(began), err)
	}
	const what = "second ended unasked, by signal 9 (killed)"
	if err := context.Cause(ctx); err == nil || err.Error() != what {
		t.Errorf("the context ends by %v, want %s", err, what)
	}
	pid, _ := os.ReadFile(filepath.Join(dir, "second.log"))
	said := r.end()
	if want := what + "\nsecond.log ends:\n" + strings.TrimSpace(string(pid)) + "\nsecond.out ends:\nstarted"; !strings.HasPrefix(said, want) {
		t.Errorf("the test says\n%s\nwant\n%s", said, want)
	}
	if strings.Contains(said, "first") {
		t.Errorf("the test blames the daemon that lives:\n%s", said)
	}
}

// TestStopped: daemons that the test stops are not a failure.
func TestStopped(t *testing.T) {
	r := &recorder{TB: t}
	ctx := start(r, t.TempDir(), script)
	if err := ctx.Err(); err != nil {
		t.Error(err)
	}
	if said := r.end(); said != "" {
		t.Errorf("the test says\n%s", said)
	}
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
}

// TestNeverReady: no test waits for the start of a dead daemon, nor for a dead script.
func TestNeverReady(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`. ./start.sh; dir=$1; watched "$dir/broken" sh -c 'echo no port; exit 3'; exec sleep 600`, "broken ended unasked, with status 3\nbroken.out ends:\nno port"},
		{`dir=$1; echo no memory >"$dir/daemon.log"; exit 4`, "the daemons' script ended unasked\ndaemon.log ends:\nno memory"},
		{`echo what; exec sleep 600`, `the daemons' script says "what"`},
	} {
		r, began := &recorder{TB: t}, time.Now()
		func() {
			defer func() {
				if recover() != r {
					t.Errorf("%s: the test goes on", c.script)
				}
			}()
			start(r, t.TempDir(), c.script)
		}()
		if said := r.end(); said != c.want || time.Since(began) > limit/2 {
			t.Errorf("after %v the test says\n%s\nwant\n%s", time.Since(began), said, c.want)
		}
	}
}
