package perf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// machine makes a root with the files of a machine.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// table writes a table of expectations.
func table(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(name, []byte("machine a test\n"+text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// idle are the files of a machine with nothing to blame.
var idle = map[string]string{
	"proc/loadavg":                  "0.00 0 0 1/1 1",
	"sys/class/net/eth0/speed":      "10000",
	"sys/class/net/eth0/operstate":  "up",
	"sys/class/net/eth1/speed":      "1000",
	"sys/class/net/eth1/operstate":  "up",
	"sys/devices/system/cpu/online": "0-7",
}

// TestExpect: causes that were planted are named in the last line, and no others. Figures are
// compared with limits that no machine meets, or that each one does.
func TestExpect(t *testing.T) {
	need.Namespaces(t)
	const none = "put latency 8 network ..0.000001\n"
	between := []string{"--hosts", "2", "--host-netns", "-s", "8"}
	sleeping := map[string]string{
		"proc/loadavg":                                         "0.00 0 0 1/1 1",
		"sys/devices/system/cpu/cpu1/online":                   "1",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "800000",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3700000",
	}
	for _, c := range []struct {
		name, table string
		root        map[string]string
		args        []string
		status      int
		want, not   string // in the last line, and not in it
	}{
		{"as expected", "nic eth0\nput latency 8 network 0.001..1000000\n", idle, append(between, "--links", "2", "-d", "eth0"), 0, "all 1 figures are as expected of a test.", "Not so"},
		{
			"throttled link", "nic eth0\n" + none, idle, append(between, "--links", "2,rate=200mbit", "-d", "eth0"), 1,
			"maybe because of a throttled link: tbf lets 200 Mb/s of eth0 through on the host of PE 0 (tc qdisc show dev eth0)", "wrong NIC",
		},
		{
			"wrong NIC", "nic eth0\n" + none, idle, append(between, "--links", "2", "-d", "eth1"), 1,
			"maybe because of a wrong NIC: the job used eth1, and the table is for eth0 (SHMEM_NIC_LIST=eth0); a wrong NIC: the job used eth1 with 1 Gb/s, and eth0 with 10 Gb/s was up", "throttled",
		},
		{
			"sleeping governor", "put latency 8 node ..0.000001\n", sleeping, []string{"-s", "8"}, 1,
			"maybe because of a sleeping governor: powersave on the host of PE 0, at 800 of 3700 MHz (cpupower frequency-set -g performance).", "NIC",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"shmem-perf", "-T", "2", "--batches", "3", "put_lat", "--timeout", "60", "--root", machine(t, c.root), "--expect", table(t, c.table)}, c.args...)
			out, errs, status := run(t, args...)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			last := lines[len(lines)-1]
			if status != c.status || !strings.Contains(last, c.want) || strings.Contains(last, c.not) {
				t.Errorf("status %d, want %d, %s\nlast line\n%s\nwant\n%s", status, c.status, errs, last, c.want)
			}
		})
	}
}

// TestHosts: between hosts every figure is measured over the network, with the NIC that carried it.
func TestHosts(t *testing.T) {
	need.Namespaces(t)
	out, errs, status := run(t, "shmem-perf", "--hosts", "2", "--host-netns", "-n", "2", "-T", "1", "--batches", "1", "-s", "8,64K", "--json", "--timeout", "100")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	lines := parse(t, out)
	if r := lines[0]; len(r.NICs) != 1 || r.Path != "network" || len(r.Hosts) != 2 || len(r.Hosts[1].NICs) != 1 || r.Hosts[1].NICs[0].Name != r.NICs[0] {
		t.Errorf("run %+v", r)
	}
	n := 0
	for _, name := range promised(t) {
		n += 2
		if unsized(name) {
			n--
		}
	}
	if got := len(ofKind(lines, "figure")); got != n {
		t.Errorf("%d figures, want %d", got, n)
	}
}

// TestLongCommand: the command of another program is run whole, however long it is.
func TestLongCommand(t *testing.T) {
	text := strings.Repeat("a", 600)
	out, errs, status := run(t, "shmemrun", "--hosts", "2", "-n", "2", filepath.Join(need.Build(t), "libexec", "shmem", "perf"),
		"beside=x:true:echo "+text, "tests=put:latency", "sizes=8", "budget=1", "batches=1")
	if !strings.Contains(out, "beside\tname=x\ttext="+text+" ") || !strings.Contains(out, "besides\tname=x\tstatus=0\n") || status != 0 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestBeside: other programs between the same two hosts, with the address of the NIC that the job
// used.
func TestBeside(t *testing.T) {
	need.Namespaces(t)
	need.Command(t, "iperf3")
	need.Command(t, "fi_pingpong")
	out, errs, status := run(t, "shmem-perf", "--hosts", "2", "--host-netns", "--links", "2", "-d", "eth1", "-T", "1", "--batches", "1", "-s", "8", "put_latency", "--json", "--timeout", "100", "--beside=fi_pingpong,iperf3")
	var got []string
	for _, l := range parse(t, out) {
		if l.Kind == "figure" {
			got = append(got, l.System+" "+l.name())
		} else if len(l.NICs) != 1 || l.NICs[0] != "eth1" {
			t.Errorf("run %+v", l)
		}
	}
	if want := "libshmem put_latency, fi_pingpong put_visible, iperf3 put_bandwidth"; status != 0 || errs != "" || strings.Join(got, ", ") != want {
		t.Errorf("status %d: %s\nmeasured are %q, want %s", status, errs, got, want)
	}
}
