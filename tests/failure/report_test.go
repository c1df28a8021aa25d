package failure

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// descendants waits for n processes of a program below one, and returns their numbers.
func descendants(t *testing.T, below int, name string, n int) []int {
	t.Helper()
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		parents := map[int]int{}
		var found []int
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
			if err != nil {
				continue // it ended meanwhile
			}
			open, shut := strings.IndexByte(string(b), '('), strings.LastIndexByte(string(b), ')')
			parents[pid], _ = strconv.Atoi(strings.Fields(string(b[shut+1:]))[1])
			if string(b[open+1:shut]) == name {
				found = append(found, pid)
			}
		}
		var ours []int
		for _, pid := range found {
			for at := pid; at > 1; at = parents[at] {
				if at == below {
					ours = append(ours, pid)
					break
				}
			}
		}
		if len(ours) == n {
			return ours
		}
	}
	t.Fatalf("%d processes %s do not come", n, name)
	return nil
}

// TestStopped stops one PE of eight: the reports of the waiting PEs name it, and the job ends
// normally when it continues.
func TestStopped(t *testing.T) {
	shmemrun, program := compile(t, "stand")
	for _, c := range []struct {
		name, way, pes, wrapper string
		options                 []string
		say                     []string
		// Over NICs PE 0 reaches the memory of the stopped PE; work for that PE's processor waits.
		nics []string
	}{
		{name: "node", way: "barrier", pes: "8", say: []string{
			`PE 0: shmem_barrier_all has waited \d+ s: barrier \d+; not there yet: PE 5; ` +
				`PE 5 is stopped by a signal or a debugger \(process \d+\), is in no call of the library that waits \(.* ago\) \(the wait goes on\)`}},
		{name: "wait", way: "wait", pes: "8", say: []string{
			`PE [0-7]: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(heap offset 0x\w+\) == 1, now 0; PE 5 is stopped by`}},
		{name: "hosts", way: "get", pes: "8", options: list(tcp, []string{"--hosts", "4"}), say: []string{
			// The operation, the peer, its address, the NIC, and the progress of both.
			`PE 0: shmem_long_g has waited \d+ s: for the completion at PE 5; PE 5 is stopped by a signal or a debugger \(process \d+\), ` +
				`(is in no call of the library that waits \(.* ago\)(, as of \d+\.\d s ago)?, )?has not answered for \d+\.\d s, has 1 operations of 8 bytes under way, \d+ messages posted and \d+ received, \d+ of \d+ units completed, ` +
				`at [0-9a-f.:\[\]]+ over tcp( by net)?;?(msg)? on \S+`,
			// The events before, and the question without an answer.
			`PE 0:   last events with PE 5, times before this report:\n(shmem: PE 0: .*\n)*shmem: PE 0: +-\d+\.\d{3} ms  posted read of 8 bytes, token \d+\n` +
				`(shmem: PE 0: .*\n)*shmem: PE 0: +-\d+\.\d{3} ms  sent message \d+: flush, 56 bytes\n`,
			`PE 4: shmem_barrier_all has waited \d+ s: barrier \d+; not there yet: PE 5; PE 5 is stopped`}, nics: []string{
			`PE 0 has reached the memory of PE 5`,
			`PE 0: shmem_long_atomic_fetch_add has waited \d+ s: for the completion at PE 5; PE 5 is stopped by a signal or a debugger \(process \d+\)`,
			`PE 4: shmem_barrier_all has waited \d+ s: barrier \d+; not there yet: PE 5; PE 5 is stopped`}},
		// No PE sees the process: the network reports that it does not answer.
		{name: "network", way: "get", pes: "8", wrapper: "unshare --pid --fork --kill-child ", options: list(tcp, []string{"--hosts", "8"}), say: []string{
			`PE 0: shmem_long_g has waited \d+ s: for the completion at PE 5; PE 5 has not answered for \d+\.\d s`}, nics: []string{
			`PE 0 has reached the memory of PE 5`,
			`PE 0: shmem_long_atomic_fetch_add has waited \d+ s: for the completion at PE 5; PE 5 has not answered for \d+\.\d s`}},
	} {
		for _, r := range networks(t, c.options, true) {
			t.Run(c.name+r.name, func(t *testing.T) {
				way, say := c.way, c.say
				if r.network != nil {
					way, say = "reach", c.nics
				}
				if c.wrapper != "" {
					need.Namespaces(t)
				}
				file := filepath.Join(t.TempDir(), "go")
				j := start(t, list(r.env, []string{"SHMEM_TIMEOUT=1"}), shmemrun,
					list(options(c.pes, r.options...), strings.Fields(c.wrapper), []string{program, way, "5", file})...)
				pids := descendants(t, j.cmd.Process.Pid, filepath.Base(program), 8)
				for pe := range 8 {
					j.says(`PE ` + strconv.Itoa(pe) + ` is process \d+`)
				}
				pid := 0
				for _, p := range pids {
					b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "environ"))
					if err == nil && strings.Contains(string(b), "\x00SHMEM_LAUNCHER_PE=5\x00") {
						pid = p
					}
				}
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil || pid == 0 {
					t.Fatalf("stop PE 5, process %d: %v", pid, err)
				}
				if err := os.WriteFile(file+".stopped", nil, 0o666); err != nil {
					t.Fatal(err)
				}
				for _, pattern := range say {
					j.says(pattern)
				}
				if err := errors.Join(syscall.Kill(pid, syscall.SIGCONT), os.WriteFile(file, nil, 0o666)); err != nil {
					t.Fatal(err)
				}
				if n := passed(t, j.wait(0)); n != 8 {
					t.Errorf("%d of 8 PEs came to the end:\n%s", n, j.output())
				}
			})
		}
	}
}

// TestAsked requests reports by the signal USR2. It repeats the signal until they arrive: a PE that
// does not wait yet has nothing to report.
func TestAsked(t *testing.T) {
	shmemrun, program := compile(t, "stand")
	dir := t.TempDir()
	ask := func(j *job, patterns ...string) {
		t.Helper()
		for pe := range 2 {
			j.says(`PE ` + strconv.Itoa(pe) + ` is process \d+`)
		}
		for _, pattern := range patterns {
			re := regexp.MustCompile(pattern)
			for end := time.Now().Add(limit / 2); !re.MatchString(j.output()); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("nothing says %s\n%s", pattern, j.output())
				}
				if err := j.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	end := func(j *job, file string) string {
		t.Helper()
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return j.wait(0)
	}
	file := filepath.Join(dir, "reports")
	j := start(t, nil, shmemrun, "-n", "2", program, "barrier", "1", file)
	ask(j, `shmem: PE 0: shmem_barrier_all has waited \d+ s: barrier \d+; not there yet: PE 1; PE 1 is in no call of the library that waits \(.* ago\) \(the wait goes on\)`,
		`shmem: PE 1: asked for a report: nothing is known to be wrong with any PE`)
	if n := passed(t, end(j, file)); n != 2 {
		t.Errorf("the signal ended the job:\n%s", j.output())
	}
	file = filepath.Join(dir, "own")
	j = start(t, nil, shmemrun, "-n", "2", program, "nothing", "-1", file, "own")
	ask(j, `(?s)the program's own handler.*the program's own handler`)
	if out := end(j, file); strings.Contains(out, "asked for a report") {
		t.Errorf("the program's handler was not the only one:\n%s", out)
	}
}
