package topo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// sysfs makes a tree of files.
func sysfs(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, "sys", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNUMA(t *testing.T) {
	root := sysfs(t, map[string]string{
		"class/net/ens5/device/numa_node":              "0\n",
		"class/infiniband/rdmap16s27/device/numa_node": "1\n",
		"class/infiniband/mlx5_0/device/numa_node":     "-1\n",
		"class/cxi/cxi0/device/numa_node":              "3\n",
		"bus/pci/devices/0000:17:00.0/numa_node":       "1\n",
		"devices/system/node/node0/cpulist":            "0-3,8-9\n",
		"devices/system/node/node1/cpulist":            "4-7,10\n",
		"devices/system/node/node2/cpulist":            "\n",
	})
	for domain, want := range map[string]int{
		"ens5": 0, "rdmap16s27-rdm": 1, "rdmap16s27-dgrm": 1, "mlx5_0": -1, "cxi0": 3, "lo": -1, "": -1, "../net/ens5": -1,
	} {
		if got := NICNode(root, domain); got != want {
			t.Errorf("NIC %q is at node %d, want %d", domain, got, want)
		}
	}
	if got := PCINode(root, "0000:17:00.0"); got != 1 {
		t.Errorf("PCI device is at node %d", got)
	}
	if got := PCINode(root, "0000:18:00.0"); got != -1 {
		t.Errorf("PCI device that there is not is at node %d", got)
	}
	for node, want := range map[int][]int{0: {0, 1, 2, 3, 8, 9}, 1: {4, 5, 6, 7, 10}, 2: nil, 7: nil, -1: nil} {
		if got := NodeCPUs(root, node); !slices.Equal(got, want) {
			t.Errorf("node %d has processors %v, want %v", node, got, want)
		}
	}
}
