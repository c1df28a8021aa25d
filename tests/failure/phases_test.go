package failure

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// phases is a job of phases.c and its folder.
type phases struct {
	*job
	folder string
}

func startPhases(t *testing.T, env []string, pes string, options []string, more ...string) *phases {
	t.Helper()
	shmemrun, program := compile(t, "phases")
	p := &phases{folder: t.TempDir()}
	p.job = start(t, env, shmemrun, list([]string{"-n", pes}, options, []string{program, p.folder}, more)...)
	return p
}

// goOn lets the PEs that wait for a file continue.
func (p *phases) goOn(file string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, file), nil, 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// stands waits until a PE waits for a file, and returns its process.
func (p *phases) stands(pe int, file string) (pid int) {
	p.t.Helper()
	m := p.says(`PE ` + strconv.Itoa(pe) + ` is process (\d+) and stands before ` + file + `\n`)
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// ask sends the signal USR2 to every PE, for a while.
func (p *phases) ask() {
	p.t.Helper()
	for range 10 {
		if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// standsInInit waits for a process to have loaded the core, and to wait for the others.
func standsInInit(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		maps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(maps, []byte("libshmem_core.so")) {
			rests(t, pid)
			return
		}
	}
	t.Fatalf("process %d does not load the core", pid)
}

// rests waits until all threads of a process sleep, at five looks in a row.
func rests(t *testing.T, pid int) {
	t.Helper()
	sleeps := 0
	for end := time.Now().Add(limit / 2); sleeps < 5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d never sleeps", pid)
		}
		sleeps++
		threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			if tid, err := strconv.Atoi(thread.Name()); err != nil || !need.Asleep(pid, tid) {
				sleeps = 0
			}
		}
	}
}

// TestAskedAlways sends the signal USR2 before init, during init, during finalize and after it: the
// PEs report or ignore it.
func TestAskedAlways(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
	}{
		{"node", nil},
		{"hosts", list(tcp, []string{"--hosts", "2"})},
	} {
		for _, r := range networks(t, c.options, false) {
			t.Run(c.name+r.name, func(t *testing.T) {
				p := startPhases(t, r.env, "2", r.options)
				pid := p.stands(0, "before")
				p.stands(1, "before")
				p.ask()
				p.goOn("before")
				p.stands(1, "init")
				standsInInit(t, pid)
				p.ask()
				p.goOn("init")
				p.stands(1, "finalize")
				p.ask()
				p.says(`shmem: PE 0: shmem_finalize has waited \d+ s: .*\(the wait goes on\)`)
				p.goOn("finalize")
				p.stands(0, "after")
				p.stands(1, "after")
				p.ask()
				p.goOn("after")
				if n := passed(t, p.wait(0)); n != 2 {
					t.Errorf("%d of 2 PEs came to the end:\n%s", n, p.output())
				}
			})
		}
	}
}

// TestFaultInInit sends SIGSEGV to a PE that waits for another one in shmem_init.
func TestFaultInInit(t *testing.T) {
	const most = limit / 4 // some 10 ms, on an idle machine
	p := startPhases(t, nil, "2", nil)
	pid := p.stands(0, "before")
	p.goOn("before")
	p.stands(1, "init")
	standsInInit(t, pid)
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	p.says(`shmemrun: PE 0 was killed by signal 11 \(segmentation fault`)
	p.wait(139)
	if took := time.Since(began); took > most {
		t.Errorf("the job ended after %v, want at most %v", took, most)
	}
}

// TestFinalizeAfterLoss: PE 0 is in finalize after the loss of PE 2 and waits for PE 1. It reports
// after SHMEM_TIMEOUT and on the signal.
func TestFinalizeAfterLoss(t *testing.T) {
	const report = `shmem: PE 0: shmem_finalize has waited \d+ s: for the PEs that are alive to finalize; PE 2 .*\(the wait goes on\)`
	for _, c := range []struct {
		name, timeout string
		ask           bool
		options       []string
	}{
		{"time", "1", false, nil},
		{"asked", "0", true, nil},
		{"hosts", "1", false, list(tcp, []string{"--hosts", "3"})},
	} {
		for _, r := range networks(t, c.options, false) {
			t.Run(c.name+r.name, func(t *testing.T) {
				p := startPhases(t, list(r.env, []string{"SHMEM_ON_FAILURE=return", "SHMEM_TIMEOUT=" + c.timeout}), "3", r.options, "lose")
				p.goOn("before")
				p.goOn("init")
				p.stands(1, "finalize")
				p.says(`shmemrun: PE 2 was killed by signal 9`)
				// PE 0 leaves the barrier of finalize first.
				for end := time.Now().Add(limit / 2); c.ask && time.Now().Before(end); p.ask() {
					if regexp.MustCompile(report).MatchString(p.output()) {
						break
					}
				}
				p.says(report)
				p.goOn("finalize")
				p.goOn("after")
				if n := passed(t, p.wait(137)); n != 2 {
					t.Errorf("%d of 2 PEs came to the end:\n%s", n, p.output())
				}
			})
		}
	}
}
