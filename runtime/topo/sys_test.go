package topo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/shmerr"
)

// system makes a tree of files; a text that begins with -> is a link.
func system(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		to, link := strings.CutPrefix(text, "->")
		err := error(nil)
		if link {
			err = os.Symlink(to, name)
		} else {
			err = os.WriteFile(name, []byte(text+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// box is a machine of two sockets in /sys: a GPU and an EFA NIC at one switch of the
// second, an interface of virtio that says nothing of its place.
func box(t *testing.T) string {
	bus := "sys/bus/pci/devices/"
	at := "sys/devices/pci0001:10/0001:10:01.0/0001:11:00.0/"
	gpu, nic, net := at+"0001:12:00.0/0001:13:00.0/", at+"0001:12:01.0/0001:14:00.0/", "sys/devices/pci0000:00/0000:00:03.0/"
	up := "->../../../"
	return system(t, map[string]string{
		"sys/class/dmi/id/product_name":                           "box",
		"sys/devices/system/cpu/online":                           "0-7",
		"sys/devices/system/cpu/cpu0/topology/package_cpus_list":  "0-3",
		"sys/devices/system/cpu/cpu4/topology/core_siblings_list": "4-7",
		"sys/devices/system/node/has_cpu":                         "0-1",
		"sys/devices/system/node/node0/cpulist":                   "0-3",
		"sys/devices/system/node/node1/cpulist":                   "4-7",
		"sys/devices/system/node/node2/cpulist":                   "",
		gpu + "class":                                             "0x030200",
		gpu + "vendor":                                            "0x10de",
		gpu + "local_cpulist":                                     "4-7",
		gpu + "numa_node":                                         "1",
		gpu + "current_link_speed":                                "32.0 GT/s PCIe",
		gpu + "current_link_width":                                "16",
		nic + "class":                                             "0x020000",
		nic + "vendor":                                            "0x1d0f",
		nic + "local_cpulist":                                     "4-7",
		nic + "numa_node":                                         "1",
		nic + "infiniband/rdmap20s0/node_type":                    "7: unspecified",
		net + "class":                                             "0x020000",
		net + "vendor":                                            "0x1af4",
		net + "local_cpulist":                                     "0-7",
		net + "numa_node":                                         "-1",
		net + "virtio1/net/eth0/mtu":                              "1500",
		bus + "0001:13:00.0":                                      up + strings.TrimPrefix(gpu, "sys/"),
		bus + "0001:14:00.0":                                      up + strings.TrimPrefix(nic, "sys/"),
		bus + "0000:00:03.0":                                      up + strings.TrimPrefix(net, "sys/"),
		"proc/driver/nvidia/gpus/0001:13:00.0/information":        "Model: fake",
	})
}

func TestReadSys(t *testing.T) {
	root := box(t)
	m, err := ReadSys(root)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "box" || m.CPUs.String() != "0-7" || len(m.Packages) != 2 || len(m.Nodes) != 2 || len(m.Devices) != 3 || m.Nodes[1].CPUs.String() != "4-7" {
		t.Fatalf("read %+v", m)
	}
	gpu, nic, eth := m.Find("00000001:13:00.0", ""), m.Find("", "rdmap20s0-rdm"), m.Find("", "eth0")
	if gpu == nil || nic == nil || eth == nil || gpu.Kind != GPU || nic.Kind != RDMA || eth.Kind != Ethernet {
		t.Fatalf("found %+v, %+v, %+v", gpu, nic, eth)
	}
	if want := []string{"0001:10", "0001:10:01.0", "0001:11:00.0", "0001:12:00.0"}; !slices.Equal(gpu.Bridges, want) {
		t.Errorf("the GPU is behind %v, want %v", gpu.Bridges, want)
	}
	if gpu.Speed < 63 || gpu.Speed > 63.1 {
		t.Errorf("the GPU's link has %v GB/s", gpu.Speed)
	}
	if c := m.Distance(gpu.Place, nic.Place); c != SameSwitch {
		t.Errorf("the NIC is %v from the GPU", c)
	}
	if c := m.Distance(gpu.Place, eth.Place); c != OtherSocket || eth.CPUs != "" {
		t.Errorf("eth0 is %v from the GPU, near to %s", c, eth.CPUs)
	}
	if n := m.Near(gpu.Place); n == nil || n.Number != 1 {
		t.Errorf("the GPU is near to %v", n)
	}
	if OneNode(root) || !OneNode(system(t, map[string]string{"sys/devices/system/node/has_cpu": "0"})) {
		t.Error("the number of NUMA nodes")
	}
	if here := GPUsHere(root); !slices.Equal(here, []string{"0001:13:00.0"}) {
		t.Errorf("GPUs here: %v", here)
	}
}

func TestReadSysWithoutSys(t *testing.T) {
	_, err := ReadSys(t.TempDir())
	if !errors.Is(err, shmerr.ErrSystem) || !strings.HasSuffix(err.Error(), "(mount sysfs at /sys, or install hwloc)") {
		t.Errorf("got %v", err)
	}
	_, err = ReadSys(system(t, map[string]string{"sys/devices/system/cpu/online": "0-x"}))
	if err == nil || !strings.Contains(err.Error(), `"0-x" is neither a number nor a range`) {
		t.Errorf("got %v", err)
	}
}

func TestSet(t *testing.T) {
	for _, text := range []string{"", "0", "0-3", "0-3,8,10-11", "63-64", "8191"} {
		s, err := ParseSet(text)
		if err != nil || s.String() != text {
			t.Errorf("%q is %q, error %v", text, s, err)
		}
		if again := NewSet(s.List()...); again != s || s.Count() != len(s.List()) {
			t.Errorf("%q: %v of %d", text, s.List(), s.Count())
		}
	}
	for text, want := range map[string]string{"0x0000000f": "0-3", "0x1,0x80000000": "31-32", "0x1,,0x0": "64", "0x0": ""} {
		if s, err := parseMask(text); err != nil || s.String() != want {
			t.Errorf("%q is %q, want %q, error %v", text, s, want, err)
		}
	}
	a, b := NewSet(0, 1, 9), NewSet(1, 9, 70)
	if a.And(b) != NewSet(1, 9) || a.Within(b) || !a.And(b).Within(b) || NewSet(70).And(a) != "" {
		t.Errorf("%v and %v are %v", a, b, a.And(b))
	}
}

func TestNatural(t *testing.T) {
	names := []string{"rdmap10", "rdmap2", "rdmap02", "rdmap1s3", "mlx5_11", "mlx5_2", "rdmap", ""}
	slices.SortFunc(names, Natural)
	if got := strings.Join(names, " "); got != " mlx5_2 mlx5_11 rdmap rdmap1s3 rdmap2 rdmap02 rdmap10" {
		t.Errorf("got %q", got)
	}
}
