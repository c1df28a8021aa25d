package failure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

var goOn = []string{"SHMEM_ON_FAILURE=return"}

// TestSurvive kills one PE of a job, on one node and over a network. The others notice within
// seconds, in whatever call they are, and continue among themselves.
func TestSurvive(t *testing.T) {
	shmemrun, program := compile(t, "survive")
	for _, c := range []struct {
		name, victim, way, reason string
		pes, status               int
		options                   []string
		namespaces, gpu           bool
	}{
		{name: "node", pes: 16, victim: "2", way: "kill", status: 128 + 9, reason: `was killed by signal 9`},
		{name: "node, first PE", pes: 3, victim: "0", way: "exit", status: 3, reason: `exited with status 3`},
		{name: "two of one node", pes: 2, victim: "1", way: "segv", status: 128 + 11, reason: `was killed by signal 11`},
		{name: "hosts", pes: 16, victim: "5", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, options: list(tcp, []string{"--hosts", "4"})},
		{name: "hosts, dealt", pes: 8, victim: "0", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, options: list(tcp, []string{"--hosts", "2", "--map", "cyclic"})},
		{name: "each alone", pes: 4, victim: "3", way: "exit", status: 3, reason: `exited with status 3`, options: list(tcp, []string{"--hosts", "4"})},
		{name: "namespaces", pes: 4, victim: "2", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, options: []string{"--hosts", "2", "--host-netns"}, namespaces: true},
		{name: "chaos", pes: 3, victim: "1", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, options: list(tcp, []string{"--chaos", "7,delay=300us"})},
		{name: "GPU memory, node", pes: 3, victim: "1", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, gpu: true},
		{name: "GPU memory, hosts", pes: 6, victim: "1", way: "kill", status: 128 + 9, reason: `was killed by signal 9`, options: list(tcp, []string{"--hosts", "3"}), gpu: true},
	} {
		for _, r := range networks(t, c.options, c.name == "hosts" || c.gpu) {
			t.Run(c.name+r.name, func(t *testing.T) {
				if c.namespaces {
					need.Namespaces(t)
				}
				env := list(goOn, r.env)
				if c.gpu {
					env = list(env, r.onGPU(t))
				}
				j := start(t, env, shmemrun, list(options(fmt.Sprint(c.pes), r.options...), []string{program, c.victim, c.way})...)
				out := j.wait(c.status)
				if n := passed(t, out); n != c.pes-1 {
					t.Errorf("%d of %d survivors came to their end:\n%s", n, c.pes-1, out)
				}
				j.says(`shmemrun: PE ` + c.victim + ` ` + c.reason + `.*; the others go on \(SHMEM_ON_FAILURE=return\)`)
				t.Log(j.says(`knew after \d+ ms`)[0])
			})
		}
	}
}

// TestDefault: without the setting the job ends at once, and names the PE.
func TestDefault(t *testing.T) {
	shmemrun, program := compile(t, "survive")
	for _, r := range append(networks(t, list(tcp, []string{"--hosts", "4"}), false), route{name: "node"}) {
		out := start(t, r.env, shmemrun, list(options("16", r.options...), []string{program, "5", "kill"})...).wait(128 + 9)
		if !strings.Contains(out, "shmemrun: PE 5 was killed by signal 9 (killed)\n") {
			t.Errorf("%s %v: the PE is not named:\n%s", r.name, r.options, out)
		}
	}
}

// TestSettingDiffers: all PEs of one job follow one setting.
func TestSettingDiffers(t *testing.T) {
	shmemrun, program := compile(t, "survive")
	j := start(t, nil, shmemrun, "-n", "2", "sh", "-c", `[ $SHMEM_LAUNCHER_PE = 1 ] && export SHMEM_ON_FAILURE=return; exec "$0" 0 kill`, program)
	if out := j.wait(2); !strings.Contains(out, "SHMEM_ON_FAILURE is abort on PE 0 and return on PE 1 (set it to the same value on all PEs)") {
		t.Errorf("the PEs start:\n%s", out)
	}
}

// TestOrphans ends shmemrun first, and then a PE: the others notice by its process, or only by the
// network, that it is gone. A shell hides shmemrun's end from the PEs.
func TestOrphans(t *testing.T) {
	shmemrun, program := compile(t, "survive")
	for _, c := range []struct {
		name    string
		way     string
		env     []string
		wrapper string
		options []string
		say     string
		count   int // PEs that report it
	}{
		{name: "node", way: "kill", env: goOn, say: " passed, 0 failed", count: 3},
		{name: "hosts", way: "kill", env: goOn, options: list(tcp, []string{"--hosts", "2"}), say: " passed, 0 failed", count: 3},
		{name: "default", way: "kill", say: "PE 2 ended (its process,", count: 1},
		// No PE sees another one's process. The first process of a namespace cannot kill itself.
		{name: "network", way: "exit", env: goOn, wrapper: "unshare --pid --fork ", options: list(tcp, []string{"--hosts", "4"}), say: " passed, 0 failed", count: 3},
	} {
		for _, r := range networks(t, c.options, c.name == "network") {
			t.Run(c.name+r.name, func(t *testing.T) {
				if c.wrapper != "" {
					need.Namespaces(t)
				}
				dir := t.TempDir()
				file := filepath.Join(dir, "die")
				j := start(t, list(c.env, r.env), shmemrun, list(options("4", r.options...), []string{
					"sh", "-c", c.wrapper + `"$0" "$@" > ` + dir + `/$SHMEM_LAUNCHER_PE 2>&1; exit $?`, program, "2", c.way, file})...)
				pids := descendants(t, j.cmd.Process.Pid, filepath.Base(program), 4)
				t.Cleanup(func() {
					for _, pid := range pids {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				})
				outputs := func(say string) (all string, n int) {
					for pe := range 4 {
						b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint(pe)))
						all += string(b)
						if strings.Contains(string(b), say) {
							n++
						}
					}
					return all, n
				}
				await := func(say string, want int) string {
					t.Helper()
					for end := time.Now().Add(limit / 2); ; time.Sleep(20 * time.Millisecond) {
						all, n := outputs(say)
						if n >= want {
							return all
						}
						if time.Now().After(end) {
							t.Fatalf("%d PEs say %q, want %d:\n%s", n, say, want, all)
						}
					}
				}
				await("is up", 4)
				if err := syscall.Kill(j.cmd.Process.Pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				<-j.done
				if err := os.WriteFile(file, nil, 0o666); err != nil {
					t.Fatal(err)
				}
				t.Log(await(c.say, c.count))
			})
		}
	}
}
