package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// TestCauses: what is wrong between two hosts has a name. on0 and on1 are commands that the hosts run
// first; $eth0, $eth1 and $peer0, $peer1 are their own addresses and those of the other host.
func TestCauses(t *testing.T) {
	need.Namespaces(t)
	nft := need.Command(t, "nft")
	table := func(chain, rule string) string {
		return nft + " 'table ip t { chain c { " + chain + "; " + rule + "; }; }'"
	}
	const in, out, post = "type filter hook input priority 0", "type filter hook output priority 0", "type nat hook postrouting priority 100"
	const pair = `: host\d \(PE \d\) to host\d \(PE \d\) at 198\.\d+\.\d+\.\d+`
	// Silence has to be waited for: make test-full plays the rest.
	push := []string{"sound", "firewall for TCP", "MTU", "routes", "NAT", "IPv6"}
	for _, c := range []struct{ name, on0, on1, want string }{
		{"sound", ":", ":", `ok  causes: large transfers, datagrams, routes, addresses and names of 2 hosts are sound\n`},
		{"firewall for TCP", ":", table(in, `iifname "eth1" tcp flags syn / syn,ack drop`), `no  silent firewall` + pair + `: TCP to a free port is neither answered nor refused, while UDP arrives \(open the firewall`},
		{"firewall", ":", table(in, `iifname "eth1" drop`), `no  silent firewall` + pair + `: TCP and UDP to free ports are neither answered nor refused`},
		{"MTU", ":", table(out, `oifname "eth1" ip length > 1000 drop`), `no  MTU black hole` + pair + `: a connection is made, a large transfer stands still; .*packets of more than some (99\d|1000) bytes vanish, and the MTU of eth1 is \d+.* \(let ICMP`},
		{"routes", ":", `ip route replace $peer1/32 via $peer0 dev eth0`, `-   asymmetric routes` + pair + `, which is of eth1: packets arrive on eth1, answers leave by eth0`},
		{
			"lost answers", table(in, `iifname "eth0" ip saddr $peer1 drop`), `ip route replace $peer1/32 via $peer0 dev eth0`,
			`no  asymmetric routes` + pair + `: packets arrive on eth1, answers leave by eth0 and are lost \(make packets`,
		},
		{
			"NAT", `ip route add 198.51.100.7 via $peer1 dev eth1`, `ip address add 198.51.100.7/32 dev lo && ` + table(post, `oifname "eth1" ip saddr $eth1 snat to 198.51.100.7`),
			`no  address translation \(NAT\)` + pair + `: it comes from 198\.51\.100\.7 there, which is not an address of host1`,
		},
		{"duplicate", ":", `ip address add $peer1/32 dev eth1`, `no  duplicate addresses: 198\.\d+\.\d+\.\d+ on eth1 is of host0 \(PE 0\) and host1 \(PE 1\) \(give each host`},
		{
			"DNS", table(in, `udp dport 53 drop`), `resolver=$peer0`,
			`-   slow DNS: host1 \(PE 1\): the look-up of host0 took [2-9]\S*s`,
		},
		{
			"IPv6", `six=1`, `six=2`, `-   IPv6 only: host0 \(PE 0\), host1 \(PE 1\) have no address of IPv4`,
		},
		{"two families", ":", `six=2`, `no  IPv6 only: host1 \(PE 1\) have addresses of IPv6 alone, and host0 \(PE 0\) of IPv4 alone`},
	} {
		if need.Left("causes between hosts") && !slices.Contains(push, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := `own() { ip -4 -o address show dev $1 | sed -E 's/.*inet ([0-9.]+)\/.*/\1/' | head -n 1; }
other() { own $1 | while IFS=. read a b c d; do echo $a.$b.$c.$((3 - d)); done; }
eth0=$(own eth0) eth1=$(own eth1) peer0=$(other eth0) peer1=$(other eth1) resolver= six=
for i in all eth0 eth1; do echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; done
if [ $SHMEM_HOST_ID = host0 ]; then
` + strings.ReplaceAll(c.on0, "'", `"`) + `
else
` + strings.ReplaceAll(c.on1, "'", `"`) + `
fi || exit 9
if [ -n "$six" ]; then
    for i in eth0 eth1; do ip -4 address flush dev $i && ip -6 address flush dev $i && ip -6 address add fd00:${i#eth}::$six/64 dev $i nodad || exit 9; done
fi
[ -n "$resolver" ] || exec shmem-doctor --hosts --patience 4
printf 'nameserver %s\noptions timeout:2 attempts:1\n' $resolver >` + dir + `/resolv.conf
exec unshare -m sh -c 'mount --bind ` + dir + `/resolv.conf /etc/resolv.conf && exec shmem-doctor --hosts --patience 4'`
			out, _ := run(t, "shmemrun", "-n", "2", "--hosts", "2", "--host-netns", "--links", "2", "--timeout", "100",
				"-x", "SHMEM_NIC_LIST=eth0,eth1", "sh", "-c", program)
			if !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("%s is missing in\n%s", c.want, out)
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
