package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

// poor are the findings that a machine which runs the tests may have.
var poor = regexp.MustCompile(`^no  (processors|throttling): `)

// run returns the output and the status of a command of the installation.
func run(t *testing.T, argv ...string) (out string, status int) {
	t.Helper()
	bin := filepath.Join(need.Build(t), "bin")
	cmd := exec.Command(filepath.Join(bin, argv[0]), argv[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

func TestHere(t *testing.T) {
	out, status := run(t, "shmem-doctor")
	wrong := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "no ") {
			wrong = 1
			if !poor.MatchString(line) {
				t.Errorf("%s", line)
			}
		}
	}
	if status != wrong {
		t.Errorf("status %d, want %d", status, wrong)
	}
	build := need.Build(t)
	for _, want := range []string{
		"ok  libshmem.so: " + build + "/lib/libshmem.so of libshmem ", "ok  libshmem_core.so: ", "ok  shmemrun: " + build + "/bin/shmemrun",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestOneHost(t *testing.T) {
	out, _ := run(t, "shmemrun", "-n", "3", "--timeout", "60", "shmem-doctor")
	for _, want := range []string{"# ", "(PEs 0-2)\n", "ok  kernel: ", "# between them\nok  hosts: one, its PEs share memory\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "ok  kernel: "); n != 1 {
		t.Errorf("one host is described %d times:\n%s", n, out)
	}
}

// TestLaunchers: the doctor examines jobs of other launchers, too, and they end normally.
func TestLaunchers(t *testing.T) {
	tool := filepath.Join(need.Build(t), "bin", "shmem-doctor")
	for _, argv := range [][]string{
		{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"},
		{"mpiexec.hydra", "-n", "2"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, need.Command(t, argv[0]), append(argv[1:], tool)...)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // where mpirun leaves files
			b, err := cmd.CombinedOutput()
			out := string(b)
			if !strings.Contains(out, "(PEs 0, 1)\n") || !strings.Contains(out, "# between them\nok  hosts: one, its PEs share memory\n") {
				t.Errorf("%v\n%s", err, out)
			}
			wrong := false
			for line := range strings.Lines(out) {
				wrong = wrong || poor.MatchString(line)
			}
			if (err != nil) != wrong {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestBetweenHosts: two hosts, each in a network namespace, with two networks between them. before
// is a command that the second host runs first.
func TestBetweenHosts(t *testing.T) {
	need.Namespaces(t)
	const bad, unused, lost = "no  between hosts: ", "-   between hosts: ", `(no answer in 8s|connect: (network is unreachable|no route to host|connection refused))`
	for _, c := range []struct {
		name, before, nics string
		want               []string
		status             int
	}{
		{"well", ":", "eth0,eth1", []string{"ok  between hosts: eth0 is reached by all 2\n", "ok  between hosts: eth1 is reached by all 2\n"}, 0},
		{
			"silent", "for ip in $(ip -4 neigh show dev eth1 | cut -d' ' -f1) $peer; do ip neigh replace $ip lladdr 02:00:00:00:00:77 dev eth1 nud permanent; done", "eth0,eth1",
			[]string{"ok  between hosts: eth0 is reached by all 2\n", bad + `eth1: .*host\d \(PE \d\) to host\d \(PE \d\) at 198\.\d+\.\d+\.\d+: ` + lost + `.*\(open the firewall `}, 1,
		},
		{
			"another network", "ip address flush dev eth1 && ip address add 10.77.0.1/24 dev eth1", "eth0",
			[]string{"ok  between hosts: eth0 is reached by all 2\n", unused + `eth1: .*host0 \(PE 0\) to host1 \(PE 1\) at 10\.77\.0\.1: ` + lost + `.*\(no job takes it with these settings`}, 0,
		},
		{
			"no address", "ip address flush dev eth1; ip address flush dev eth0", "eth0",
			[]string{`no  hosts: host1 \(PE 1\) has no address that another could reach \(bring an interface up`}, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := `peer=$(ip -4 -o address show dev eth1 | sed -E 's/.*inet ([0-9.]+)\.([0-9]+)\/.*/\1 \2/' | while read net n; do echo $net.$((3 - n)); done)
[ $SHMEM_HOST_ID != host1 ] || { ` + c.before + `; } || exit 9
exec shmem-doctor --patience 8`
			out, status := run(t, "shmemrun", "-n", "2", "--hosts", "2", "--host-netns", "--links", "2", "--timeout", "60",
				"-x", "SHMEM_NIC_LIST="+c.nics, "sh", "-c", program)
			for _, want := range c.want {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%s is missing in\n%s", want, out)
				}
			}
			local := 0
			for line := range strings.Lines(out) {
				if poor.MatchString(line) {
					local = 1
				}
			}
			if status != max(c.status, local) {
				t.Errorf("status %d, want %d\n%s", status, c.status, out)
			}
		})
	}
}
