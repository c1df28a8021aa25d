package launchers

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/daemons"
	"libshmem/tests/need"
)

// cluster starts testdata/cluster.sh. It returns a context for commands that need the cluster, and
// the variable that leads to it.
func cluster(t *testing.T) (context.Context, string) {
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
	t.Cleanup(func() { alone(context.Background(), t) })
	return daemons.Start(t, cmd, dir), "SLURM_CONF=" + filepath.Join(dir, "slurm.conf")
}

// ports returns ports that are free, and stay so: they are below the range that the kernel assigns
// by itself.
func ports(t *testing.T, n int) (all []string) {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		defer l.Close() // after all have been found
		if all = append(all, port); len(all) == n {
			return all
		}
	}
	t.Fatal("no ports are free")
	return nil
}

// hostfile has a line for each task.
func hostfile(t *testing.T, hosts ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte(strings.Join(hosts, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSlurm(t *testing.T) {
	t.Parallel()
	job(t) // while the machine is not busy with daemons
	ctx, conf := cluster(t)
	for _, c := range []struct{ plugin, boot string }{{"pmi2", "pmi"}, {"pmix", "pmix"}} {
		t.Run(c.plugin, func(t *testing.T) {
			t.Parallel()
			l := launcher{
				command: []string{need.Command(t, "srun"), "--nodes=2", "--ntasks=%n", "--mpi=" + c.plugin, "--quiet"},
				env:     []string{conf}, boot: c.boot, daemons: ctx,
			}
			l.check(t)
			t.Run("hosts", func(t *testing.T) {
				t.Parallel()
				l.works(t, 4, 2, []string{"APART=1"}, "2")
			})
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		srun := func(more ...string) launcher {
			command := append([]string{need.Command(t, "srun"), "--ntasks=%n", "--mpi=none", "--quiet"}, more...)
			return launcher{command: command, env: []string{conf}, boot: "slurm", daemons: ctx}
		}
		l := srun("--nodes=2")
		strict := srun("--nodes=2", "--kill-on-bad-exit") // it also ends PEs that did not arrive
		strict.check(t)
		alone := srun()
		alone.boot = "singleton"
		folder := t.TempDir()
		for _, c := range []struct {
			name  string
			l     launcher
			hosts int
			env   []string
		}{
			{"hosts", l, 2, []string{"APART=1"}},
			{"cyclic", srun("--nodes=2", "--distribution=cyclic"), 2, []string{"APART=1"}},
			{"arbitrary", srun("--distribution=arbitrary"), 2, []string{"APART=1", "SLURM_HOSTFILE=" + hostfile(t, "b", "a", "b", "b")}},
			{"folder", l, 2, []string{"APART=1", "SHMEM_BOOTSTRAP_DIR=" + folder}},
			{"named", l, 2, []string{"APART=1", "SHMEM_BOOTSTRAP=slurm"}},
			{"IPv4", l, 2, []string{"APART=1", "SHMEM_BOOTSTRAP_FAMILY=af_inet"}},
			{"ports", srun("--nodes=2", "--resv-ports=2"), 2, []string{"APART=1"}},
			{"alone", alone, 1, nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				n := 4
				if c.l.boot == "singleton" {
					n = 1
				}
				c.l.works(t, n, c.hosts, c.env, "2")
			})
		}
		// The doctor finds its peers on both nodes as a job does, or reports why not.
		t.Run("doctor", func(t *testing.T) {
			t.Parallel()
			job(t)
			doctor := filepath.Join(buildDir, "bin", "shmem-doctor")
			l := srun("--nodes=2", "sh", "-c", `SHMEM_HOST_ID=$SLURMD_NODENAME exec "$@"`, "sh")
			out, _ := l.execute(t, 2, nil, doctor)
			if !strings.Contains(out, "# a (PE 0), b (PE 1)\n") || !regexp.MustCompile(`between hosts: \S+ is reached by all 2\n`).MatchString(out) {
				t.Errorf("it does not find both nodes:\n%s", out)
			}
			l = srun("--nodes=2", "unshare", "--mount", "sh", "-c", `mount -t tmpfs none /run; exec "$@"`, "sh")
			out, status := l.execute(t, 2, nil, doctor)
			if status == 0 || strings.Count(out, "no  bootstrap: join job by Slurm: prove the user of this process: make a credential of munge: ") != 2 {
				t.Errorf("without munge: status %d, and not both say so:\n%s", status, out)
			}
		})
		// In a step each task becomes a PE of the measurement, and PE 0 prints.
		t.Run("perf", func(t *testing.T) {
			t.Parallel()
			job(t)
			l := srun("--nodes=2", "sh", "-c", `SHMEM_HOST_ID=$SLURMD_NODENAME exec "$@"`, "sh")
			out, status := l.execute(t, 2, nil, filepath.Join(buildDir, "bin", "shmem-perf"), "-T", "1", "--batches", "1", "-s", "8", "put_latency")
			if status != 0 || strings.Count(out, ", 2 PEs, PE 0 to PE 1 over the network (") != 1 || strings.Count(out, "# put latency, us, until quiet\n") != 1 {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
		// Without munge's credential.
		t.Run("no munge", func(t *testing.T) {
			t.Parallel()
			l := srun("--nodes=2", "unshare", "--mount", "sh", "-c", `mount -t tmpfs none /run; exec "$@"`, "sh")
			out, status := l.run(t, 2, nil, "1")
			if status == 0 || !strings.Contains(out, "prove the user of this process: make a credential of munge: ") ||
				!strings.Contains(out, "/run/munge/munge.socket.2") || !strings.Contains(out, "srun --mpi=pmi2") {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
		// The script has the variables of a task, but is not a task.
		t.Run("script", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, script := filepath.Join(dir, "out"), filepath.Join(dir, "script")
			if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			l := launcher{
				command: []string{need.Command(t, "sbatch"), "--quiet", "--ntasks=4", "--wait", "--output=" + file, script},
				env:     []string{conf}, boot: "singleton", daemons: ctx,
			}
			said, status := l.run(t, 1, nil, "2")
			out, err := os.ReadFile(file)
			if err != nil || status != 0 || !strings.Contains(string(out), ": 1 PE on 1 host, ") {
				t.Errorf("status %d, %v:\n%s%s", status, err, said, out)
			}
		})
	})
	// In an allocation shmemrun has srun start the PEs.
	t.Run("shmemrun", func(t *testing.T) {
		t.Parallel()
		job(t)
		l := launcher{
			command: []string{need.Command(t, "salloc"), "--quiet", "--nodes=2", "--ntasks=%n", filepath.Join(buildDir, "bin", "shmemrun"), "--map", "cyclic"},
			env:     []string{conf}, boot: "slurm", daemons: ctx,
		}
		l.works(t, 4, 2, []string{"APART=1"}, "2")
	})
	// The daemons that mpirun starts are tasks of the allocation: Slurm's variables describe them,
	// not the PEs.
	t.Run("mpirun", func(t *testing.T) {
		t.Parallel()
		l := launcher{
			command: []string{need.Command(t, "salloc"), "--quiet", "--nodes=2", "--ntasks=%n", "--ntasks-per-node=2", need.Command(t, "mpirun"), "--allow-run-as-root", "-n", "%n"},
			env:     []string{conf}, boot: "pmix", daemons: ctx,
		}
		l.works(t, 4, 2, []string{"APART=1"}, "2")
	})
}
