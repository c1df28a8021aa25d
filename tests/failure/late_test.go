package failure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// latePEs is the number of PEs; the last one skips a barrier.
const latePEs, latePE = 4, 3

// starts returns the ways to start a job of late.c, and the routes of each.
func starts(t *testing.T, how string) []route {
	t.Helper()
	if how == "hosts" {
		return networks(t, list([]string{"--hosts", "2"}, tcp), false)
	}
	return networks(t, nil, false)
}

// begin starts a job of late.c in one of these ways.
func begin(t *testing.T, how string, r route, shmemrun, program, what, file string, env ...string) *job {
	t.Helper()
	args := []string{program, what, strconv.Itoa(latePE), file}
	if how == "node" || how == "hosts" {
		return start(t, list(env, r.env), shmemrun, list(options(strconv.Itoa(latePEs), r.options...), args)...)
	}
	// Without a launcher: the shell only starts the PEs, and does not end them.
	const pes = `n=$1; shift; pe=0; while [ $pe -lt $n ]; do SHMEM_BOOTSTRAP_PE=$pe LATE_PE=$pe "$@" & pe=$((pe+1)); done; wait`
	id := filepath.Join(t.TempDir(), "id")
	n := strconv.Itoa(latePEs)
	env = append(env, "LD_LIBRARY_PATH="+filepath.Join(need.Build(t), "lib"))
	if how == "file" {
		env = append(env, "SHMEM_BOOTSTRAP_FILE="+id, "SHMEM_BOOTSTRAP_NPES="+n)
	} else {
		env = append(env, "LATE_UID="+id, "LATE_NPES="+n)
	}
	return start(t, env, "sh", list([]string{"-c", pes, "pes", n}, args)...)
}

// lives asks shmem-info about a running PE until its output matches.
func (j *job) lives(pe int, pattern string) {
	j.t.Helper()
	info, pid := filepath.Join(need.Build(j.t), "bin", "shmem-info"), j.process(pe)
	re := regexp.MustCompile(pattern)
	var out []byte
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, _ = exec.Command(info, "--live", pid, "--between", "0").CombinedOutput() // out has the error
		if re.Match(out) {
			return
		}
	}
	j.t.Errorf("shmem-info --live of PE %d never says %s:\n%s", pe, pattern, out)
}

// process returns the number of a PE's process.
func (j *job) process(pe int) string {
	j.t.Helper()
	return j.says(fmt.Sprintf(`PE %d is process (\d+)`, pe))[1]
}

// stop ends a job that cannot end by itself.
func (j *job) stop() {
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGTERM)
	<-j.done
}

const (
	noCall    = `is in no call of the library that waits \((none has been long since shmem_init, |its last long one, shmem_\w+, ended )`
	waits     = `is in shmem_long_wait_until for \d+\.\d s \(for 0x\w+ `
	finalized = `has finalized, \d+\.\d s ago`
	parts     = `has called shmem_finalize, and waits there for the other PEs to leave, for \d+\.\d s`
	exited    = `exited with status 0 without shmem_finalize`
)

// lateness is the last PE's behaviour instead, the way its job is started, and the expected report.
type lateness struct{ what, how, does string }

// late is a job with such a PE, which continues when the file exists.
type late struct {
	lateness
	*job
	name, file string
}

// TestLate has a PE that skips a barrier: the reports of waiting PEs, and shmem-info --live, show
// its activity, or how it has ended, also for PEs that wait for other waiting PEs.
func TestLate(t *testing.T) {
	shmemrun, program := compile(t, "late")
	cases := []lateness{
		{"compute", "node", noCall},
		{"compute", "hosts", noCall},
		{"compute", "file", noCall},
		{"compute", "uid", noCall},
		{"wait", "node", waits},
		{"wait", "hosts", waits},
		{"wait", "file", waits},
		{"wait", "uid", waits},
		{"finalize", "node", finalized},
		{"finalize", "hosts", parts},
		{"finalize", "file", parts},
		{"finalize", "uid", parts},
		{"exit", "node", exited},
		{"exit", "hosts", exited},
		{"return", "node", exited},
		{"gone", "hosts", exited},
	}
	for i := range starts(t, "hosts") {
		// All jobs of a network wait at the same time, which takes no processor time.
		var jobs []late
		for _, c := range cases {
			all := starts(t, c.how)
			if i >= len(all) {
				continue
			}
			file := filepath.Join(t.TempDir(), "go")
			j := begin(t, c.how, all[i], shmemrun, program, c.what, file, "SHMEM_TIMEOUT=1")
			jobs = append(jobs, late{c, j, c.what + " " + c.how + all[i].name, file})
		}
		for _, l := range jobs {
			t.Run(l.name, l.judge)
		}
	}
}

// judge checks the output of the PEs, and lets them continue where they can.
func (l *late) judge(t *testing.T) {
	j := l.job
	j.t = t
	call := "shmem_barrier_all"
	if l.what == "finalize" {
		call = "shmem_finalize" // whose barrier is that of the others
	}
	none := `barrier \d+; not there yet: PE 3; PE 3 ` + l.does
	if l.does == exited {
		j.says(`PE \d: ` + call + ` has waited \d+ s: ` + none + `.* \(the job ends\)`)
		j.says(`PE \d: ` + call + `: it waits for PE 3, which has exited without shmem_finalize \(call it on each PE before the end\)`)
		j.wait(128 + 6)
		return
	}
	j.says(`PE 2: ` + call + ` has waited \d+ s: ` + none)
	j.lives(2, call+` waits for \S+ `+none)
	if l.how == "hosts" {
		message := `for message \d+ of PE 2, has \d+; PE 2 is in ` + call + ` for \d+\.\d s \(` + none
		j.says(`PE 0: ` + call + ` has waited \d+ s: ` + message)
		j.lives(0, call+` waits for \S+ `+message)
		j.says(`PE 1: ` + call + ` has waited \d+ s: barrier \d+; not there yet: a PE of another node; PE 0 is in ` +
			call + ` for \d+\.\d s \(` + message)
	}
	if l.what != "compute" && l.what != "wait" {
		j.stop()
		return
	}
	if err := os.WriteFile(l.file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if n := passed(t, j.wait(0)); n != latePEs {
		t.Errorf("%d of %d PEs came to the end:\n%s", n, latePEs, j.output())
	}
}

// In TestLateEnds a PE of a job without a launcher ends before a barrier, so that the others lose
// it: they report its status if the PE could record it, and otherwise that it is unknown.
func TestLateEnds(t *testing.T) {
	shmemrun, program := compile(t, "late")
	const noted, unknown = `ended with status %d, \d+\.\d s ago, without shmem_finalize`, `has ended \(its process, \d+, is gone, and its status is not known\)`
	for _, c := range []struct{ what, how, does, loss string }{
		{"exit", "file", fmt.Sprintf(noted, 0), fmt.Sprintf(noted, 0)},
		{"return", "uid", fmt.Sprintf(noted, 0), fmt.Sprintf(noted, 0)},
		{"fail", "uid", fmt.Sprintf(noted, 3), fmt.Sprintf(noted, 3)},
		{"gone", "file", unknown, "ended"},
	} {
		t.Run(c.what+" "+c.how, func(t *testing.T) {
			t.Parallel()
			// Reports are due before the job ends, a second after the loss.
			j := begin(t, c.how, route{}, shmemrun, program, c.what, "", "SHMEM_TIMEOUT=0.3")
			j.says(`PE \d: shmem_barrier_all has waited \d+\.\d s: barrier \d+; not there yet: PE 3; PE 3 ` + c.does)
			j.says(`PE \d: the job: PE 3 ` + c.loss + ` \(its process, \d+, is gone\)`)
			<-j.done
		})
	}
}

// TestLateAsked sends the signal USR2 to a waiting PE: its report shows the activity of the late
// PE, even on another host, where a PE is asked only on the signal.
func TestLateAsked(t *testing.T) {
	shmemrun, program := compile(t, "late")
	for _, c := range []struct{ what, how, does string }{
		{"wait", "node", `PE 3 ` + waits},
		{"exit", "node", `PE 3 ` + exited},
		{"wait", "hosts", `PE 2 is in shmem_barrier_all for \d+\.\d s \(barrier \d+; not there yet: PE 3(; PE 3 ` + waits + `|\))`},
		{"compute", "file", `PE 3 ` + noCall},
	} {
		for _, r := range starts(t, c.how) {
			t.Run(c.what+" "+c.how+r.name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "go")
				j := begin(t, c.how, r, shmemrun, program, c.what, file, "SHMEM_TIMEOUT=0")
				pid, err := strconv.Atoi(j.process(0))
				if err != nil {
					t.Fatal(err)
				}
				re := regexp.MustCompile(`PE 0: shmem_barrier_all has waited \d+ s: .*; ` + c.does)
				for end := time.Now().Add(limit / 2); !re.MatchString(j.output()); time.Sleep(200 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("nothing says %s\n%s", re, j.output())
					}
					if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
						t.Fatal(err)
					}
				}
				if strings.Contains(j.output(), "1 passed") {
					t.Errorf("a PE came to the end:\n%s", j.output())
				}
				j.stop()
			})
		}
	}
}
