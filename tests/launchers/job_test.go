package launchers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// limit is how long a job may take. It takes a second or two; the machine may be busy.
const limit = 2 * time.Minute

// lateness is SHMEM_BOOTSTRAP_TIMEOUT where PEs are missing: more than the time between the first
// and the last PE that do arrive. On a busy machine that time may be longer, so that PEs count as
// missing that are only late; then the next value is used.
var lateness = []string{"4", "16", "60"}

// program is testdata/job.c, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "launchers-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "job")
	lib := filepath.Join(buildDir, "lib")
	return file, cc.Try(cc.C(), "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", file,
		"testdata/job.c", "-L"+lib, "-lshmem", "-Wl,-rpath,"+lib)
})

var buildDir string

func TestMain(m *testing.M) {
	status := m.Run()
	if buildDir != "" {
		if file, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(file))
		}
	}
	os.Exit(status)
}

// job returns the program's file.
func job(t *testing.T) string {
	t.Helper()
	once.Do(func() { buildDir = need.Build(t) })
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var once sync.Once

// launcher starts PEs: a command line before the program's, and its environment.
type launcher struct {
	command []string
	env     []string
	// reports is set if its exit status is that of shmem_global_exit.
	reports bool
	// strict is set if it may end a job by itself when a PE ends without shmem_init.
	strict bool
	boot   string // the launcher's name in the banner
	// farewell is the PEs' report when it was killed; "": another process of the launcher ends
	// them.
	farewell string
	// daemons ends when a daemon ends that the launcher needs; nil: it needs none.
	daemons context.Context
}

// context ends a job when the test ends, a daemon does, or the job's time is over; its cause names
// which.
func (l *launcher) context(t *testing.T) (context.Context, context.CancelFunc) {
	ctx := l.daemons
	if ctx == nil {
		ctx = t.Context()
	}
	return context.WithTimeoutCause(ctx, limit, errors.New("does not end"))
}

// prepare returns a job of n PEs that ends with ctx. argv makes its arguments.
func (l *launcher) prepare(ctx context.Context, t *testing.T, n int, env []string, argv ...string) *exec.Cmd {
	t.Helper()
	tmp := t.TempDir() // where mpirun leaves files
	all := append([]string{}, l.command...)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "%n", fmt.Sprint(n))
	}
	all = append(all, argv...)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "SHMEM_SYMMETRIC_SIZE=8m", "SHMEM_LOG_LEVEL=info", "SHMEM_PROVIDER=tcp", mark(t))
	cmd.Env = append(append(cmd.Env, l.env...), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs a job of n PEs to its end. It returns its output and its exit status.
func (l *launcher) run(t *testing.T, n int, env []string, args ...string) (string, int) {
	t.Helper()
	return l.execute(t, n, env, append([]string{job(t)}, args...)...)
}

// execute is run for another program.
func (l *launcher) execute(t *testing.T, n int, env []string, argv ...string) (string, int) {
	t.Helper()
	ctx, cancel := l.context(t)
	defer cancel()
	cmd := l.prepare(ctx, t, n, env, argv...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, context.Cause(ctx), out.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out.String())
	}
	alone(ctx, t)
	return out.String(), cmd.ProcessState.ExitCode()
}

// mark returns a variable that identifies the processes of a test.
func mark(t *testing.T) string { return "MARK=" + strings.ReplaceAll(t.Name(), "/", "-") + "." }

// alone waits for the end of all processes that the test has started: a launcher may return a
// moment before the processes that it ends. Forks of srun are ended: once, with PMIx, two of them
// were there a minute after srun itself had returned, and no process of the job.
func alone(ctx context.Context, t *testing.T) {
	t.Helper()
	var left []string
	var sruns []int
	for end := time.Now().Add(limit / 2); ; time.Sleep(20 * time.Millisecond) {
		left, sruns = nil, nil
		all, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			env, _ := os.ReadFile(file)
			if bytes.Contains(env, []byte(mark(t))) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				left = append(left, fmt.Sprintf("%d %q", pid, line))
				if name, _, _ := bytes.Cut(line, []byte{0}); filepath.Base(string(name)) == "srun" {
					sruns = append(sruns, pid)
				}
			}
		}
		if len(left) == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("left behind: %v: %v", left, context.Cause(ctx))
		}
		if time.Now().After(end) {
			if len(sruns) < len(left) {
				t.Fatalf("left behind: %v", left)
			}
			t.Logf("left behind, and ended: %v", left)
			for _, pid := range sruns {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
			return
		}
	}
}

// check runs the tests that every launcher has to pass.
func (l *launcher) check(t *testing.T) {
	t.Run("jobs", func(t *testing.T) {
		t.Parallel()
		l.works(t, 4, 1, nil, "50")
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		third := "ends"
		if l.strict {
			third = "sleeps"
		}
		for _, late := range lateness {
			out, status := l.run(t, 5, []string{"SHMEM_BOOTSTRAP_TIMEOUT=" + late}, "1", "1", "sleeps", "3", third)
			want := ": PEs 1, 3 did not come within " + late + "s"
			if strings.Contains(out, want) && status != 0 {
				break
			}
			if late == lateness[len(lateness)-1] || !strings.Contains(out, " did not come within "+late+"s") {
				t.Fatalf("status %d, and no PE says %q:\n%s", status, want, out)
			}
		}
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		if out, status := l.run(t, 3, nil, "1", "2", "killed"); status == 0 || strings.Contains(out, "wrong") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("starts", func(t *testing.T) {
		t.Parallel()
		out := l.works(t, 2, 1, []string{"STARTS=env -u PMIX_RANK -u PMI_FD -u PMI_RANK -u PMI_ID -u SLURM_PROCID"}, "2")
		if !regexp.MustCompile(`shmem_init: join job the place of .*: process \d+, which started this one, has it \(to have a job of its own, `).MatchString(out) ||
			!strings.Contains(out, ": 1 PE on 1 host, ") || !strings.Contains(out, "PE 0 of 1 on ") {
			t.Errorf("the program that PE 1 has started:\n%s", out)
		}
	})
	t.Run("orphaned", func(t *testing.T) {
		t.Parallel()
		l.orphaned(t)
	})
	t.Run("global_exit", func(t *testing.T) {
		t.Parallel()
		out, status := l.run(t, 3, nil, "1", "0", "global_exit")
		if status == 0 || l.reports && status != 5 || strings.Contains(out, "wrong") {
			t.Errorf("status %d, want 5:\n%s", status, out)
		}
	})
}

// orphaned kills the launcher of PEs that wait for each other. They end: by another process of the
// launcher, or by themselves.
func (l *launcher) orphaned(t *testing.T) {
	t.Helper()
	ctx, cancel := l.context(t)
	defer cancel()
	said := filepath.Join(t.TempDir(), "said") // the launcher's pipes end with it
	cmd := l.prepare(ctx, t, 3, nil, "sh", "-c", `exec "$@" >>"$0" 2>&1`, said, job(t), "1", "9", "never")
	if err := cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, context.Cause(ctx)))
	}
	need.Eventually(t, "the banner", func() bool {
		out, _ := os.ReadFile(said)
		return ctx.Err() != nil || bytes.Contains(out, []byte(": 3 PEs on "))
	})
	if ctx.Err() != nil {
		t.Fatal(context.Cause(ctx))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	alone(ctx, t)
	out, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for pe := range 3 {
		if l.farewell != "" && !bytes.Contains(out, fmt.Appendf(nil, "shmem: PE %d: the job: %s (find out what ended the launcher, ", pe, l.farewell)) {
			t.Errorf("PE %d does not say %q:\n%s", pe, l.farewell, out)
		}
	}
}

// works runs a successful job of n PEs on a number of hosts.
func (l *launcher) works(t *testing.T, n, hosts int, env []string, args ...string) string {
	t.Helper()
	out, status := l.run(t, n, env, args...)
	pes, on := fmt.Sprintf("%d PEs", n), fmt.Sprintf("%d hosts", hosts)
	if n == 1 {
		pes = "1 PE"
	}
	if hosts == 1 {
		on = "1 host"
	}
	banner := fmt.Sprintf(": %s on %s, ", pes, on)
	if status != 0 || !strings.Contains(out, banner) || !strings.Contains(out, "; bootstrap "+l.boot+";") {
		t.Errorf("status %d, want %q and bootstrap %s:\n%s", status, banner, l.boot, out)
	}
	for pe := range n {
		if !regexp.MustCompile(fmt.Sprintf(`PE %d of %d on \S+: %s jobs, 0 wrong`, pe, n, args[0])).MatchString(out) {
			t.Errorf("PE %d does not say that all is right:\n%s", pe, out)
		}
	}
	return out
}

func TestHydra(t *testing.T) {
	t.Parallel()
	mpiexec := need.Command(t, "mpiexec.hydra")
	l := launcher{command: []string{mpiexec, "-n", "%n"}, reports: true, boot: "pmi"}
	l.check(t)
	t.Run("port", func(t *testing.T) {
		t.Parallel()
		l := launcher{command: []string{mpiexec, "-pmi-port", "-n", "%n"}, reports: true, boot: "pmi"}
		l.works(t, 3, 1, nil, "3")
	})
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		need.Namespaces(t)
		l := launcher{command: []string{mpiexec, "-launcher", "ssh", "-launcher-exec", rsh(t), "-hosts", "one,two", "-ppn", "2", "-n", "%n"}, boot: "pmi"}
		l.works(t, 4, 2, []string{"APART=1"}, "2")
	})
}

// rsh returns testdata/rsh.
func rsh(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("testdata/rsh")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOpenMPI(t *testing.T) {
	t.Parallel()
	mpirun := need.Command(t, "mpirun")
	l := launcher{command: []string{mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "%n"}, reports: true, strict: true, boot: "pmix",
		farewell: "the PMIx server of mpirun or srun has gone"}
	l.check(t)
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		need.Namespaces(t)
		l := launcher{command: []string{mpirun, "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_agent", rsh(t), "--host", "one:3,two:1", "-n", "%n"}, boot: "pmix"}
		l.works(t, 4, 2, []string{"APART=1"}, "2")
	})
}
