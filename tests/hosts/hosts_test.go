package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestHosts starts jobs on real sshds.
func TestHosts(t *testing.T) {
	t.Parallel()
	n := need.Load("hosts")
	c := newCluster(t, n+3)
	c.sixAlone(t, n+2, n+3)
	t.Run("jobs", func(t *testing.T) {
		t.Parallel()
		teams := filepath.Join(c.build, "tests", "teams")
		var list []string
		for host := 1; host <= n; host++ {
			list = append(list, fmt.Sprintf("h%d", host))
		}
		t.Run("one PE each", func(t *testing.T) { c.works(t, n, n, "--host", strings.Join(list, ","), teams) })
		t.Run("IPv6 alone", func(t *testing.T) {
			c.works(t, 4, 2, "--host", fmt.Sprintf("s%d:2,s%d:2", n+2, n+3), "--map", "cyclic", teams)
		})
		t.Run("this host, too", func(t *testing.T) { c.works(t, 3, 2, "--host", "localhost,h1:2", teams) })
		t.Run("jump host", func(t *testing.T) { c.works(t, 2, 2, "--host", "h1,far", teams) })
		t.Run("the user's rules", func(t *testing.T) { c.works(t, 3, 2, "--host", "ruled,shared:2", teams) })
		t.Run("doctor", func(t *testing.T) {
			doctor := filepath.Join(c.build, "bin", "shmem-doctor")
			out, _ := c.command(t, doctor, "--hosts=h1,h2", "--ssh", "ssh -F "+filepath.Join(c.dir, "config")).end(t)
			if !strings.Contains(out, " is reached by all 2\n") || !strings.Contains(out, "ok  causes: ") {
				t.Errorf("shmem-doctor --hosts=h1,h2 prints\n%s", out)
			}
		})
		t.Run("host file", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "hosts")
			if err := os.WriteFile(file, []byte("# all\nh1 slots=2\nh2:2\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			c.works(t, 3, 2, "--hostfile", file, teams)
		})
	})
	t.Run("surroundings", func(t *testing.T) {
		t.Parallel()
		c.surroundings(t)
	})
	t.Run("sync", func(t *testing.T) {
		t.Parallel()
		c.sync(t)
	})
	t.Run("perf", func(t *testing.T) {
		t.Parallel()
		c.perf(t)
	})
	t.Run("library", func(t *testing.T) {
		t.Parallel()
		c.library(t)
	})
	t.Run("goes on", func(t *testing.T) {
		t.Parallel()
		c.goesOn(t)
	})
	t.Run("ends", func(t *testing.T) {
		t.Parallel()
		c.ends(t)
	})
	t.Run("refusals", func(t *testing.T) {
		t.Parallel()
		c.refusals(t)
	})
	t.Run("link", func(t *testing.T) {
		t.Parallel()
		c.link(t, n+1)
	})
	t.Run("plain user", func(t *testing.T) {
		t.Parallel()
		c.plain(t)
	})
}

// works runs a program of n PEs on so many hosts.
func (c *cluster) works(t *testing.T, n, hosts int, args ...string) {
	t.Helper()
	out, status := c.run(t, append([]string{"-n", fmt.Sprint(n)}, args...)...)
	if want := fmt.Sprintf(": %d PEs on %d hosts, ", n, hosts); status != 0 || !strings.Contains(out, want) || !strings.Contains(out, " 0 failed") {
		t.Errorf("status %d, want %q:\n%s", status, want, out)
	}
}

// surroundings: output, input, variables and directory of PEs on other hosts.
func (c *cluster) surroundings(t *testing.T) {
	for _, s := range []struct {
		name, input, script string
		args                []string
		want                []string
		without             string
	}{
		{name: "tags", script: `echo "on $(hostname)"; echo "at $PWD" >&2`, args: []string{"--tag-output", "--wdir", c.dir},
			want: []string{"[0] on h1\n", "[1] on h2\n", "[0] at " + c.dir + "\n", "[1] at " + c.dir + "\n"}},
		{name: "variables", script: `echo "$SHMEM_LAUNCHER_PE: $A $B, $SHMEM_SYMMETRIC_SIZE, $HIDDEN."`, args: []string{"-x", "A=one two", "-x", "B"},
			want: []string{"0: one two b'$, 8m, .\n", "1: one two b'$, 8m, .\n"}},
		{name: "binding", script: `echo "$SHMEM_LAUNCHER_PE: $SHMEM_LAUNCHER_CPUS, $SHMEM_LAUNCHER_BINDING"`, args: []string{"--bind"},
			want: []string{"0: 0", ", bound by shmemrun to ", " each, PE 1 to 0"}},
		{name: "input", input: strings.Repeat("line\n", 200_000), script: `wc -c`, want: []string{"1000000\n", "0\n"}},
		{name: "output", script: `yes 0123456789 | head -n 100000; echo end $SHMEM_LAUNCHER_PE`, want: []string{"end 0\n", "end 1\n", strings.Repeat("0123456789\n", 500)}},
		{name: "secrets", script: `sleep 0.2; for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; done; echo; tr '\0' '\n' </proc/$PPID/environ`, args: []string{"-x", "A=SECRE" + "T"}, want: []string{"--agent"}, without: "SECRET"},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			j := c.prepare(t, append(append([]string{"--host", "h1,h2"}, s.args...), "sh", "-c", s.script)...)
			j.Stdin = strings.NewReader(s.input)
			j.Env = append(j.Env, "B=b'$", "HIDDEN=yes")
			out, status := j.end(t)
			if status != 0 {
				t.Errorf("status %d", status)
			}
			for _, want := range s.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %.200q in:\n%.2000s", want, out)
				}
			}
			// shmemrun's own command line has what the user has typed there.
			for line := range strings.Lines(out) {
				if s.without != "" && strings.Contains(strings.ReplaceAll(line, "-x A=SECRET", ""), s.without) {
					t.Errorf("%s in:\n%.2000s", s.without, line)
				}
			}
		})
	}
	t.Run("reader that goes", func(t *testing.T) {
		t.Parallel()
		j := c.prepare(t)
		run := `"$@" yes | head -n 3`
		j.Args = append(append(append([]string{}, j.Args[:2]...), "sh", "-c", run, "sh"), append(j.Args[2:], "--host", "h1,h2")...)
		if out, _ := j.end(t); strings.Count(out, "y\n") != 3 {
			t.Errorf("%q", out)
		}
	})
}

// ends: a job ends whole, and nothing is left on any host, which end looks for.
func (c *cluster) ends(t *testing.T) {
	forever := `trap "" HUP; sleep 1000 & wait`
	begun := func(t *testing.T, j *job, n int) {
		t.Helper()
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		need.Eventually(t, "all PEs", func() bool {
			count := 0
			for _, p := range processes(t) {
				if strings.Contains(p, "sleep\\x001000") {
					count++
				}
			}
			return count >= n || j.ctx.Err() != nil
		})
	}
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		out, status := c.run(t, "--host", "h1,h2:2", "sh", "-c", `[ $SHMEM_LAUNCHER_PE = 2 ] && exit 7; `+forever)
		if status != 7 || !strings.Contains(out, "shmemrun: PE 2 exited with status 7\n") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		out, status := c.run(t, "--host", "h1,h2", "sh", "-c", `[ $SHMEM_LAUNCHER_PE = 1 ] && kill -SEGV $$; `+forever)
		if status != 128+11 || !strings.Contains(out, "PE 1 was killed by signal 11") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("strays", func(t *testing.T) {
		t.Parallel()
		if out, status := c.run(t, "--host", "h1,h2", "sh", "-c", `trap "" TERM; setsid sleep 1000 </dev/null >/dev/null 2>&1 &`); status != 0 {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		j := c.prepare(t, "--host", "h1,h2", "sh", "-c", forever)
		begun(t, j, 2)
		if err := j.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if out, status := j.end(t); status != 130 || !strings.Contains(out, "got signal 2 (interrupt): ending 2 PEs") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("shmemrun killed", func(t *testing.T) {
		t.Parallel()
		j := c.prepare(t, "--host", "h1,h2", "sh", "-c", forever)
		begun(t, j, 2)
		if err := j.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		j.end(t)
	})
	t.Run("agent killed", func(t *testing.T) {
		t.Parallel()
		out, status := c.run(t, "--host", "h1,h2", "sh", "-c", `[ $SHMEM_LAUNCHER_PE = 1 ] && (sleep 0.1; kill -KILL $PPID) & `+forever)
		if status != 1 || !strings.Contains(out, "shmemrun: host h2: the connection has ended (see what ended it, its sshd, or the network), and 1 PE with it") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("passed signals", func(t *testing.T) {
		t.Parallel()
		j := c.prepare(t, "--host", "h1,h2", "sh", "-c", `trap "echo got USR1; exit 4" USR1; `+forever)
		begun(t, j, 2)
		if err := j.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		refused := func() int {
			return strings.Count(j.out.String(), "got signal 12 (user defined signal 2): it is not passed on to PE")
		}
		need.Eventually(t, "both hosts refuse a signal", func() bool { return refused() == 2 || j.ctx.Err() != nil })
		if err := j.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		out, status := j.end(t)
		if status != 4 || !strings.Contains(out, "got USR1\n") || refused() != 2 {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		j := c.prepare(t, "--host", "h1,h2", "--keepalive", "4", "sh", "-c", forever)
		begun(t, j, 2)
		if err := j.Process.Signal(syscall.SIGTSTP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second) // the agents hear nothing; a machine may be busy for a second or two
		if err := errors.Join(j.Process.Signal(syscall.SIGCONT), j.Process.Signal(syscall.SIGTERM)); err != nil {
			t.Fatal(err)
		}
		if out, status := j.end(t); status != 143 || !strings.Contains(out, "got signal 15 (terminated): ending 2 PEs") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		if out, status := c.run(t, "--host", "h1,h2", "--timeout", "1", "sh", "-c", forever); status != 124 {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}

// sync: a host without libshmem gets it, once.
func (c *cluster) sync(t *testing.T) {
	prefix := filepath.Join(c.dir, "roomy", "prefix")
	var first []string
	for range 2 {
		out, status := c.run(t, "--host", "h1,h2", "--sync", "--prefix", prefix, "sh", "-c", `echo "$SHMEM_LAUNCHER_PE: $LD_LIBRARY_PATH $(stat -c %i "$0")"`, filepath.Join(prefix, "lib", "libshmem.so"))
		if status != 0 || strings.Count(out, ": "+prefix+"/lib") != 2 {
			t.Fatalf("status %d:\n%s", status, out)
		}
		lines := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.Contains(line, prefix) })
		slices.Sort(lines)
		if first == nil {
			first = lines
		} else if !slices.Equal(first, lines) { // other files
			t.Errorf("the second job has copied once more:\n%q\n%q", first, lines)
		}
	}
	for _, s := range []struct{ prefix, want string }{
		{filepath.Join(c.dir, "small", "prefix"), "its disk is full (make room there, or name another folder with --prefix)"},
		{"/proc/1/prefix", "shmemrun: copy libshmem to h1:/proc/1/prefix: "},
	} {
		out, status := c.run(t, "--host", "h1", "--sync", "--prefix", s.prefix, "true")
		if status != 1 || !strings.Contains(out, s.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("status %d, want %q:\n%s", status, s.want, out)
		}
	}
}

// perf: shmem-perf starts its PEs on other machines, where they read facts and the NIC.
func (c *cluster) perf(t *testing.T) {
	j := c.command(t, filepath.Join(c.build, "bin", "shmem-perf"), "--ssh", "ssh -F "+filepath.Join(c.dir, "config"), "-H", "h1,h2",
		"-T", "1", "--batches", "1", "-s", "8", "put_latency")
	out, status := j.end(t)
	if status != 0 || !strings.Contains(out, ", 2 PEs, PE 0 to PE 1 over the network (eth0); ") || !strings.Contains(out, "\n# put latency, us, until quiet\n") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// library: a failure of a PE that has reached shmem_init, as on one host.
func (c *cluster) library(t *testing.T) {
	file := filepath.Join(c.dir, "job")
	lib := filepath.Join(c.build, "lib")
	cc.Run(t, cc.C(), "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", file, "../launchers/testdata/job.c", "-L"+lib, "-lshmem")
	for _, l := range []struct {
		name, pe, ending string
		status           int
		want             string
	}{
		{"jobs", "9", "", 0, "PE 3 of 4 on h2: 3 jobs, 0 wrong\n"},
		{"killed", "3", "killed", 137, "shmemrun: PE 3 was killed by signal 9 (killed)\n"},
		{"global exit", "2", "global_exit", 5, "shmemrun: PE 2 ended the job with status 5\n"},
		{"ends", "0", "ends", 1, "shmemrun: PE 0 exited with status 0 without shmem_init, but PE"},
		{"missing", "1", "sleeps", 1, ": PE 1 did not come within 4s"},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--host", "h1:2,h2:2", "-x", "SHMEM_BOOTSTRAP_TIMEOUT=4", file, "3"}
			if l.ending != "" {
				args = append(args, l.pe, l.ending)
			}
			if out, status := c.run(t, args...); status != l.status || !strings.Contains(out, l.want) {
				t.Errorf("status %d, want %d and %q:\n%s", status, l.status, l.want, out)
			}
		})
	}
}

// goesOn: PEs that ask for it outlive a host.
func (c *cluster) goesOn(t *testing.T) {
	file := filepath.Join(c.dir, "goes_on")
	lib := filepath.Join(c.build, "lib")
	cc.Run(t, cc.C(), "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", file, "testdata/goes_on.c", "-L"+lib, "-lshmem")
	out, status := c.run(t, "--host", "h1:2,h2", "-x", "SHMEM_ON_FAILURE=return", file)
	for _, want := range []string{"PE 0 goes on\n", "PE 1 goes on\n", "shmemrun: host h2: the connection has ended (see",
		"shmemrun: PE 2 has ended, or cannot be reached any more; the others go on (SHMEM_ON_FAILURE=return)\n"} {
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("status %d, want 1 and %q:\n%s", status, want, out)
		}
	}
}

// refusals: an agent that does not start is named in one line with the reason and the remedy.
func (c *cluster) refusals(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.MkdirAll(filepath.Join(other, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho Welcome\nprintf '\\001shmemrun agent 1 0.0.9\\n'\ncat >/dev/null\n"
	if err := os.WriteFile(filepath.Join(other, "bin", "shmemrun"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name string
		args []string
		want string
		is   int
	}{
		{"wrong key", []string{"--host", "h1,wrong"}, "start agent on wrong: its host key is not the one in known_hosts (if the host is new: ssh-keygen -R wrong, then", 1},
		{"unknown key", []string{"--host", "h1,unknown"}, "start agent on unknown: its host key is not in known_hosts (run ssh unknown once", 1},
		{"clock", []string{"--host", "clock"}, "start agent on clock: its host certificate is not yet valid (compare the clocks of both hosts, or have it renewed)", 1},
		{"denied", []string{"--host", "denied"}, "start agent on denied: permission denied (publickey) (put your public key", 1},
		{"refused", []string{"--host", "h2,refused"}, "start agent on refused: it cannot be reached: Connection refused (see that", 1},
		{"absent", []string{"--host", "absent", "--ssh", "ssh -F " + filepath.Join(c.dir, "config") + " -oConnectTimeout=1"}, "start agent on absent: it cannot be reached: ", 1},
		{"no shmemrun", []string{"--host", "h1", "--prefix", "/no/where"}, "start agent on h1: it has no /no/where/bin/shmemrun (install libshmem there at the same path", 1},
		{"another version", []string{"--host", "h1", "--prefix", other}, "start agent on h1: its shmemrun is of version 0.0.9, and this one of ", 1},
		{"no directory", []string{"--host", "h1", "--wdir", "/no/where"}, "host h1: enter directory /no/where: no such file or directory (make it there, or", 1},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			out, status := c.run(t, append(r.args, "true")...)
			if status != r.is || !strings.HasPrefix(out, "shmemrun: "+r.want) || strings.Count(out, "\n") != 1 {
				t.Errorf("status %d, want %d and %q:\n%s", status, r.is, r.want, out)
			}
		})
	}
	t.Run("no program on one", func(t *testing.T) {
		t.Parallel()
		// The hosts have a disk of their own there.
		only := filepath.Join(c.dir, "roomy", "only")
		if err := os.WriteFile(only, []byte("#!/bin/sh\nsleep 1000\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, status := c.run(t, "--host", "localhost,h1", only); status != 127 || out != "shmemrun: host h1: start "+only+": no such file (check the path)\n" {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
	t.Run("no program", func(t *testing.T) {
		t.Parallel()
		if out, status := c.run(t, "--host", "h1,h2", "./no-such"); status != 127 || !strings.HasPrefix(out, "shmemrun: host h1: start ./no-such: no such file (check the path)\n") || strings.Count(out, "\n") != 1 {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}

// plain runs a job of a user without privileges, from a prefix and to a login of theirs.
func (c *cluster) plain(t *testing.T) {
	prefix := filepath.Join(c.dir, "prefix")
	for _, name := range []string{"bin/shmemrun", "lib/libshmem.so", "lib/libshmem_core.so", "tests/teams"} {
		text, err := os.ReadFile(filepath.Join(c.build, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(prefix, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(prefix, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	user := fmt.Sprint(plainID)
	j := c.command(t, "unshare", "--mount", "sh", "-ec", `mount --bind "$0/passwd" /etc/passwd; exec "$@"`, c.dir,
		"setpriv", "--reuid="+user, "--regid="+user, "--clear-groups", filepath.Join(prefix, "bin", "shmemrun"),
		"--ssh", "ssh -F "+filepath.Join(c.dir, "config.plain"), "--host", "p1,p2", "--wdir", "/", "sh", "-c", `echo "user $(id -u)"; exec "$0"`, filepath.Join(prefix, "tests", "teams"))
	out, status := j.end(t)
	if status != 0 || strings.Count(out, "user "+user) != 2 || !strings.Contains(out, ": 2 PEs on 2 hosts, ") || !strings.Contains(out, " 0 failed") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// link: a host whose network is gone is lost, and the PEs there end as well as the others.
func (c *cluster) link(t *testing.T, last int) {
	name := fmt.Sprintf("h%d", last)
	j := c.prepare(t, "--host", "h1,"+name, "--keepalive", "1.5", "sh", "-c", `echo begun; sleep 1000`)
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	need.Eventually(t, "both PEs", func() bool {
		return j.ctx.Err() != nil || strings.Count(strings.Join(processes(t), "\n"), "sleep\\x001000") >= 2
	})
	time.Sleep(3 * time.Second) // twice the limit: with a network nothing happens
	if processes(t) == nil {
		t.Error("the job has ended before its network was gone")
	}
	c.configure(t, last, netlink.LinkSetDown)
	out, status := j.end(t)
	if status != 1 || !strings.Contains(out, "shmemrun: host "+name+": nothing has come from it for too long (see that it is up, and the network; --keepalive gives it longer), and 1 PE with it") {
		t.Errorf("status %d:\n%s", status, out)
	}
}
