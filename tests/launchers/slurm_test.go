package launchers

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// cluster starts testdata/cluster.sh and returns the variable that leads to it.
func cluster(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sinfo", "srun"} {
		need.Command(t, name)
	}
	need.Namespaces(t)
	dir, err := os.MkdirTemp("", "slurm-") // short: there are sockets in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	args := []string{"--pid", "--fork", "--kill-child", "--mount-proc", "testdata/cluster.sh", dir}
	cmd := exec.Command("unshare", append(args, ports(t, 3)...)...)
	cmd.Env = append(os.Environ(), mark(t))
	cmd.Stderr = os.Stderr
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
	slow := time.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	t.Cleanup(func() {
		slow.Stop()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the cluster ends: %v", err)
		}
		alone(t)
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.out"))
		more, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range append(logs, more...) {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", filepath.Base(log), text)
		}
		t.Fatalf("the cluster says %q, %v", line, err)
	}
	slow.Stop()
	return "SLURM_CONF=" + filepath.Join(dir, "slurm.conf")
}

// ports returns ports that are free.
func ports(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all have been found
		all = append(all, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return all
}

func TestSlurm(t *testing.T) {
	t.Parallel()
	job(t) // while the machine is not busy with daemons
	conf := cluster(t)
	for _, c := range []struct{ plugin, boot string }{{"pmi2", "pmi"}, {"pmix", "pmix"}} {
		t.Run(c.plugin, func(t *testing.T) {
			t.Parallel()
			l := launcher{
				command: []string{need.Command(t, "srun"), "--nodes=2", "--ntasks=%n", "--mpi=" + c.plugin, "--quiet"},
				env:     []string{conf}, boot: c.boot,
			}
			l.check(t)
			t.Run("hosts", func(t *testing.T) {
				t.Parallel()
				l.works(t, 4, 2, []string{"APART=1"}, "2")
			})
		})
	}
	// The daemons that mpirun starts are tasks of the allocation: what Slurm says of
	// them is not true of the PEs.
	t.Run("mpirun", func(t *testing.T) {
		t.Parallel()
		l := launcher{
			command: []string{need.Command(t, "salloc"), "--quiet", "--nodes=2", "--ntasks=%n", "--ntasks-per-node=2", need.Command(t, "mpirun"), "--allow-run-as-root", "-n", "%n"},
			env:     []string{conf}, boot: "pmix",
		}
		l.works(t, 4, 2, []string{"APART=1"}, "2")
	})
}
