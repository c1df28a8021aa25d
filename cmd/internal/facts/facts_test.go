package facts

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/tests/need"
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
	if h.CPU != "Fast CPU 3000" || h.MemoryGiB != 1 || h.Load != 1.5 || h.Online != 2 || h.Governor != "powersave" || h.MHz != 800 || h.MaxMHz != 3700 {
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

// TestLimits: limits of each kind are read in a network namespace of the test, also those whose
// rate needs 64 bits.
func TestLimits(t *testing.T) {
	need.Namespaces(t)
	tc, ip := need.Command(t, "tc"), need.Command(t, "ip")
	done := make(chan []NIC)
	go func() {
		// The thread keeps its namespace, and ends with this goroutine.
		runtime.LockOSThread()
		defer close(done)
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		for _, command := range []string{
			ip + " link add slow type veth peer name slow-peer", tc + " qdisc add dev slow root tbf rate 200mbit burst 64kb latency 50ms",
			ip + " link add fast type veth peer name fast-peer", tc + " qdisc add dev fast root tbf rate 40gbit burst 4mb latency 50ms",
			ip + " link add shared type veth peer name shared-peer", tc + " qdisc add dev shared root handle 1: htb default 1",
			tc + " class add dev shared parent 1: classid 1:1 htb rate 10mbit ceil 300mbit",
			ip + " link add free type veth peer name free-peer",
		} {
			words := strings.Fields(command)
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", command, err, out)
			}
		}
		done <- Read(t.TempDir()).NICs
	}()
	got := map[string]string{}
	for _, n := range <-done {
		if !strings.HasSuffix(n.Name, "-peer") {
			got[n.Name] = fmt.Sprint(n.Limit, " ", n.By)
		}
	}
	want := map[string]string{"slow": "200 tbf", "fast": "40000 tbf", "shared": "300 htb", "free": "0 "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
}

// TestNetem: the attributes of netem are behind a struct; not every kernel has it for a test.
func TestNetem(t *testing.T) {
	long := func(kind uint16, data ...byte) []byte {
		out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(data)))
		return append(binary.NativeEndian.AppendUint16(out, kind), data...)
	}
	small := long(netemRate, append(binary.NativeEndian.AppendUint32(nil, 6250000), make([]byte, 12)...)...)
	large := long(netemRate64, binary.NativeEndian.AppendUint64(nil, 5e9)...)
	before := make([]byte, sizeOfNetem)
	for _, c := range []struct {
		options []byte
		want    uint64
	}{{append(before, small...), 6250000}, {append(append(before, small...), large...), 5e9}, {before, 0}, {nil, 0}, {append(before, 200, 0, 6, 0), 0}} {
		if got := rateOf("netem", c.options); got != c.want {
			t.Errorf("%v: %d, want %d", c.options, got, c.want)
		}
	}
	if got := rateOf("fq_codel", small); got != 0 {
		t.Errorf("another queue has %d", got)
	}
}

func TestRate(t *testing.T) {
	for mbps, want := range map[int]string{200: "200 Mb/s", 1000: "1 Gb/s", 2500: "2.5 Gb/s", 1234: "1234 Mb/s", 400000: "400 Gb/s"} {
		if got := Rate(mbps); got != want {
			t.Errorf("%d: %s, want %s", mbps, got, want)
		}
	}
}
