package facts

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// machine makes the files of a machine.
func machine(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
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

func TestRead(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	h := Read(machine(t, map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU 3000\n", "proc/meminfo": "MemTotal:  1048576 kB\n", "proc/loadavg": "1.50 1 1 1/1 1",
		cpu + "cpu0/cpufreq/scaling_governor": "performance", cpu + "cpu0/cpufreq/scaling_cur_freq": "3500000", cpu + "cpu0/cpufreq/cpuinfo_max_freq": "3700000",
		cpu + "cpu1/cpufreq/scaling_governor": "powersave", cpu + "cpu1/cpufreq/scaling_cur_freq": "800000", cpu + "cpufreq/boost": "1",
		"sys/class/net/nic9/speed": "25000", "sys/class/net/nic9/operstate": "up", "sys/class/net/nic8/speed": "-1", "sys/class/net/lo/operstate": "unknown",
		"sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)", "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
	}))
	if h.CPU != "Fast CPU 3000" || h.MemoryGiB != 1 || h.Load != 1.5 || h.Online != 2 || h.Governor != "powersave" || h.MHz != 800 || h.MostMHz != 3700 {
		t.Errorf("host %+v", h)
	}
	if want := []NIC{{Name: "nic8"}, {Name: "nic9", Mbps: 25000, Up: true}, {Name: "mlx5_0", Mbps: 400000, Up: true}}; len(h.NICs) < 3 || !reflect.DeepEqual(h.NICs[:3], want) {
		t.Errorf("NICs %+v, want %+v", h.NICs, want)
	}
	if n, ok := h.NIC("mlx5_0-rdm"); !ok || n.Mbps != 400000 {
		t.Errorf("the NIC of a domain is %+v", n)
	}
	if n, ok := h.NIC("mlx5_01"); ok {
		t.Errorf("another NIC is %+v", n)
	}
}

// TestBare: a machine that shows nothing has no facts, and is no error.
func TestBare(t *testing.T) {
	if h := Read(t.TempDir()); h.CPU != "" || h.Governor != "" || h.Online != 0 || h.Load != 0 || h.Version == "" {
		t.Errorf("host %+v", h)
	}
}

func TestRate(t *testing.T) {
	for mbps, want := range map[int]string{200: "200 Mb/s", 1000: "1 Gb/s", 2500: "2.5 Gb/s", 1234: "1234 Mb/s", 400000: "400 Gb/s"} {
		if got := Rate(mbps); got != want {
			t.Errorf("%d: %s, want %s", mbps, got, want)
		}
	}
}
