package start

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// limit is how long an operation may take here. It takes milliseconds; the machine may be busy.
const limit = 2 * time.Minute

// compile builds a program of testdata.
func compile(t *testing.T, name string) string {
	t.Helper()
	build := need.Build(t)
	return cc.Program(t, build, filepath.Join("testdata", name+".c"), "-Wl,-rpath,"+filepath.Join(build, "lib"))
}

// ending is the exit status of a process, and its output.
type ending struct {
	status int // -1: by a signal
	out    string
}

// run runs a program.
func run(t *testing.T, env []string, program string, args ...string) ending {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("%s %v does not end:\n%s", filepath.Base(program), args, out)
	} else if cmd.ProcessState == nil {
		t.Error(err)
		return ending{}
	}
	return ending{cmd.ProcessState.ExitCode(), string(out)}
}

// all does something for each PE, at the same time.
func all(t *testing.T, n int, do func(pe int)) {
	t.Helper()
	var wg sync.WaitGroup
	for pe := range n {
		wg.Go(func() { do(pe) })
	}
	wg.Wait()
}

// together runs some PEs of a job without a launcher. env is for a PE.
func together(t *testing.T, program string, n int, pes []int, env func(pe int) []string, args ...string) []ending {
	t.Helper()
	file := filepath.Join(t.TempDir(), "id")
	ends := make([]ending, len(pes))
	var wg sync.WaitGroup
	for i, pe := range pes {
		wg.Go(func() {
			ends[i] = run(t, env(pe), program, append([]string{fmt.Sprint(pe), fmt.Sprint(n), file}, args...)...)
		})
	}
	wg.Wait()
	return ends
}

func same(env ...string) func(int) []string { return func(int) []string { return env } }

// apart makes each PE a host of its own.
func apart(pe int) []string {
	return []string{fmt.Sprintf("SHMEM_HOST_ID=%d", pe), "SHMEM_PROVIDER=tcp", "SHMEM_DEBUG=1"}
}

func TestUniqueID(t *testing.T) {
	program := compile(t, "uid")
	for _, c := range []struct {
		name  string
		env   func(int) []string
		hosts int
	}{
		{"one host", same("SHMEM_DEBUG=1"), 1},
		{"a host each", apart, 3},
		{"below a launcher that is none", same("SHMEM_DEBUG=1", "SLURM_PROCID=0", "SLURM_NTASKS=9", "RANK=7"), 1},
		{"IPv6 by loopback", same("SHMEM_DEBUG=1", "SHMEM_BOOTSTRAP_INTERFACE==lo"), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends := together(t, program, 3, []int{0, 1, 2}, c.env)
			banner := fmt.Sprintf("3 PEs on %d host", c.hosts)
			for pe, e := range ends {
				if e.status != 0 || !strings.Contains(e.out, fmt.Sprintf("PE %d done", pe)) {
					t.Errorf("PE %d: status %d\n%s", pe, e.status, e.out)
				}
			}
			if e := ends[0]; !strings.Contains(e.out, banner) || !strings.Contains(e.out, "bootstrap uid;") {
				t.Errorf("the banner does not say %q and %q:\n%s", banner, "bootstrap uid", e.out)
			}
		})
	}
}

// init and finalize, with a new id each time, leave nothing.
func TestUniqueIDAgain(t *testing.T) {
	for pe, e := range together(t, compile(t, "uid"), 2, []int{0, 1}, same(), "times", "20") {
		if e.status != 0 {
			t.Errorf("PE %d: status %d\n%s", pe, e.status, e.out)
		}
	}
}

// lateness is SHMEM_BOOTSTRAP_TIMEOUT where a PE is missing. If on a busy machine the other PEs
// arrive further apart, each misses the other too, and the next value is used.
var lateness = []string{"2", "10", "60"}

// A PE that waits for one that does not arrive names it.
func TestUniqueIDMissing(t *testing.T) {
	program := compile(t, "uid")
	for i, late := range lateness {
		ends := together(t, program, 4, []int{0, 2}, same("SHMEM_BOOTSTRAP_TIMEOUT="+late))
		good := true
		for i, e := range ends {
			if e.status != 13 || !strings.Contains(e.out, " did not come within "+late+"s") {
				t.Errorf("PE %d: status %d\n%s", 2*i, e.status, e.out)
			}
			good = good && strings.Contains(e.out, "PEs 1, 3 did not come within "+late+"s")
		}
		if good {
			break
		}
		if i == len(lateness)-1 {
			t.Errorf("others are missing: %+v", ends)
		}
	}
}

// listen takes a port that was free.
func listen(t *testing.T) (l net.Listener, port string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, port, err = net.SplitHostPort(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return l, port
}

// In a session every PE makes the id, the same each time.
func TestUniqueIDSession(t *testing.T) {
	program := compile(t, "uid")
	for name, setting := range map[string]string{
		"an address": "SHMEM_BOOTSTRAP_SESSION=127.0.0.1:",
		"a name":     "NVSHMEM_BOOTSTRAP_UID_SESSION_ID=localhost:",
	} {
		t.Run(name, func(t *testing.T) {
			l, port := listen(t)
			l.Close()
			for pe, e := range together(t, program, 3, []int{0, 1, 2}, same(setting+port), "times", "5") {
				if e.status != 0 || !strings.Contains(e.out, fmt.Sprintf("PE %d done", pe)) {
					t.Errorf("PE %d: status %d\n%s", pe, e.status, e.out)
				}
			}
		})
	}
	// The port belongs to another program.
	_, port := listen(t)
	e := together(t, program, 1, []int{0}, same("SHMEM_BOOTSTRAP_SESSION=127.0.0.1:"+port))[0]
	if e.status != 13 || !strings.Contains(e.out, "begin the session at port "+port) || !strings.Contains(e.out, "address already in use") {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
}

// When a PE dies no other PE waits for ever, and the first to notice names it; even if it was PE 0,
// whose process was the root of the id.
func TestUniqueIDDeath(t *testing.T) {
	program := compile(t, "uid")
	for name, env := range map[string]func(int) []string{"one host": same(), "a host each": apart} {
		for dead := range 2 {
			t.Run(fmt.Sprintf("%s, PE %d", name, dead), func(t *testing.T) {
				ends := together(t, program, 3, []int{0, 1, 2}, env, "die", fmt.Sprint(dead))
				others := ""
				for pe, e := range ends {
					if pe != dead {
						others += e.out
					}
					if (e.status == -1) != (pe == dead) || e.status == 0 {
						t.Errorf("PE %d: status %d", pe, e.status)
					}
				}
				if !strings.Contains(others, fmt.Sprintf("PE %d ", dead)) {
					t.Errorf("no PE names PE %d:\n%s", dead, others)
				}
			})
		}
	}
}

// The status of shmem_global_exit is that of every PE.
func TestUniqueIDExit(t *testing.T) {
	program := compile(t, "uid")
	for _, status := range []int{0, 5} {
		for pe, e := range together(t, program, 3, []int{0, 1, 2}, same(), "exit", fmt.Sprint(status)) {
			if e.status != status || strings.Contains(e.out, "done") {
				t.Errorf("exit %d: PE %d: status %d\n%s", status, pe, e.status, e.out)
			}
		}
	}
}

func TestUniqueIDRefused(t *testing.T) {
	program := compile(t, "uid")
	for _, c := range []struct {
		what   string
		env    []string
		n      int
		args   []string
		status int
		want   string
	}{
		{"a spoiled byte", nil, 1, []string{"spoil", "50"}, 13, "unique id, byte 124: checksum 0x"},
		{"a spoiled version", nil, 1, []string{"spoil", "1"}, 13, "unique id, byte 0: version 0x12080, expected 0x10080"},
		{"a spoiled magic", nil, 1, []string{"spoil", "4"}, 13, `unique id, byte 4: "sHMU", expected "SHMU"`},
		{"a PE beyond", nil, 2, []string{"number", "2"}, 12, "shmemx_set_attr_uniqueid_args: PE 2 of 2"},
		{"a PE below", nil, 2, []string{"number", "-1"}, 12, "shmemx_set_attr_uniqueid_args: PE -1 of 2"},
		{"no such interface", []string{"SHMEM_BOOTSTRAP_INTERFACE=nosuch"}, 1, nil, 11, "shmemx_get_uniqueid: make unique id: no active interface"},
		{"its name at NVSHMEM", []string{"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=nosuch"}, 1, nil, 11, "make unique id: no active interface"},
		{"a session without a port", []string{"SHMEM_BOOTSTRAP_SESSION=10.0.0.1"}, 1, nil, 11, `session "10.0.0.1": it has no host and port`},
		{"a session at no port", []string{"SHMEM_BOOTSTRAP_SESSION=10.0.0.1:0"}, 1, nil, 11, `port "0" is not a number from 1 to 65535`},
		{"no such family", []string{"SHMEM_BOOTSTRAP_FAMILY=ipx"}, 1, nil, 11, `SHMEM_BOOTSTRAP_FAMILY="ipx"`},
		{"another bootstrap forced", []string{"SHMEM_BOOTSTRAP=launcher"}, 1, nil, 13, "SHMEM_BOOTSTRAP=launcher: nothing shows"},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := together(t, program, c.n, []int{0}, same(c.env...), c.args...)[0]
			if e.status != c.status || !strings.Contains(e.out, c.want) {
				t.Errorf("status %d, not %d with %q:\n%s", e.status, c.status, c.want, e.out)
			}
		})
	}
}
