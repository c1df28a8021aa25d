package run

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// unreached are networks on which PEs meet at the launcher, and hosts do not reach each other. The
// shell prepares the host of each PE before the program.
var unreached = []struct{ name, nic, shell, says string }{
	{
		"packets vanish", "eth0",
		`! ip -o addr show dev eth0 | grep -q 198.18.0.2/ || ip neigh replace 198.18.0.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent`,
		`shmem_init: reach other hosts over \S+ by \S+ on eth0: PE (\d) on host host\d, at 198.18.0.\d:\d+, does not reach PE (\d) on host host\d, at ` +
			`198.18.0.\d:\d+: the provider has made no connection within 3s \(open .*; SHMEM_BOOTSTRAP_TIMEOUT waits longer; run shmem-doctor on both hosts\)`,
	},
	{
		"no route", "eth0",
		`! ip -o addr show dev eth0 | grep -q 198.18.0.2/ || ip route add prohibit 198.18.0.1/32`,
		`shmem_init: reach other hosts over \S+ by \S+ on eth0: PE (1) on host host1, at 198.18.0.2:\d+, does not reach PE (0) on host host0, at ` +
			`198.18.0.1:\d+: .*permission denied \(open .*; run shmem-doctor on both hosts\)`,
	},
	{
		"one address for both", "docker0",
		`ip link add docker0 type veth peer name other && ip addr add 172.17.0.1/16 dev docker0 && ip link set other up && ip link set docker0 up &&
		until ip -o link show dev docker0 | grep -q LOWER_UP; do :; done`,
		`shmem_init: reach other hosts over \S+ by \S+ on docker0: PE (0) on host host0, at 172.17.0.1:\d+, and PE (1) on host host1, at ` +
			`172.17.0.1:\d+, have the same address, so each reaches only itself \(name .*; run shmem-doctor on both hosts\)`,
	},
}

// TestUnreached: shmem_init fails after SHMEM_BOOTSTRAP_TIMEOUT, or earlier where the kernel says so,
// and names both hosts. All jobs wait at the same time.
func TestUnreached(t *testing.T) {
	need.Namespaces(t)
	need.Command(t, "ip")
	build := need.Build(t)
	var judge []func()
	for _, u := range unreached {
		for _, provider := range []string{"tcp", "tcp;msg"} {
			var out bytes.Buffer
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--hosts", "2", "--host-netns", "--timeout", "20",
				"-x", "SHMEM_BOOTSTRAP_TIMEOUT=3", "-x", "SHMEM_PROVIDER="+provider, "-x", "SHMEM_NIC_LIST="+u.nic,
				"sh", "-ec", u.shell+"\n"+`exec "$0"`, filepath.Join(build, "tests", "sync"))
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			judge = append(judge, func() {
				t.Run(u.name+" "+provider, func(t *testing.T) {
					err := cmd.Wait()
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() != 1 {
						t.Errorf("%v, want status 1", err)
					}
					if m := regexp.MustCompile(u.says).FindStringSubmatch(out.String()); m == nil || m[1] == m[2] {
						t.Errorf("nothing matches %s\n%s", u.says, out.String())
					}
				})
			})
		}
	}
	for _, f := range judge {
		f()
	}
}

// TestNoRoom: a put that finds no room, because its connection is never made, is reported with the
// PE, the NIC, and what to do.
func TestNoRoom(t *testing.T) {
	need.Namespaces(t)
	need.Command(t, "ip")
	build := need.Build(t)
	program := cc.Program(t, build, "testdata/unreached.c")
	says := regexp.MustCompile(`PE 1: shmem_putmem has waited \d+ s: for room to post to PE 5; PE 5 was never reached \(the provider has no room for a ` +
		`first message to it\), .* at 198\.18\.0\.2:\d+ over \S+ by \S+ on eth0; run shmem-doctor on both hosts \(the wait goes on\)`)
	for _, provider := range []string{"tcp", "tcp;msg"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "6", "--hosts", "2", "--host-netns", "--timeout", "20",
				"-x", "SHMEM_TIMEOUT=1", "-x", "SHMEM_PROVIDER="+provider, program)
			out, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			found := false
			for lines := bufio.NewScanner(out); lines.Scan(); {
				all.WriteString(lines.Text() + "\n")
				if !found && says.MatchString(lines.Text()) {
					found = true
					_ = cmd.Process.Signal(syscall.SIGTERM) // it ends the PEs, and removes the namespaces
				}
			}
			_ = cmd.Wait() // the status is of the signal
			if !found {
				t.Errorf("nothing matches %s\n%s", says, all.String())
			}
		})
	}
}
