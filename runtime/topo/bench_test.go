package topo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkReadXML reads the machines of testdata; BenchmarkRead of runtime/topo/hwloc
// this one.
func BenchmarkReadXML(b *testing.B) {
	files, err := filepath.Glob(filepath.Join("testdata", "machines", "*.xml"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no machines: %v", err)
	}
	for _, file := range files {
		b.Run(filepath.Base(file), func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := ReadXML(text, "machine"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// large plays the /sys of a host with two packages, eight NUMA nodes, and as many
// processors and PCI devices: 8 GPUs, 32 NICs, and the rest bridges and disks.
func large(tb testing.TB, cpus, devices int) string {
	root := tb.TempDir()
	file := func(name, text string) {
		tb.Helper()
		path := filepath.Join(root, "sys", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	span := func(i, of int) string { return fmt.Sprintf("%d-%d", i*cpus/of, (i+1)*cpus/of-1) }
	file("devices/system/cpu/online", span(0, 1))
	file("devices/system/node/has_cpu", "0-7")
	for i := range cpus {
		file(fmt.Sprintf("devices/system/cpu/cpu%d/topology/package_cpus_list", i), span(i*2/cpus, 2))
	}
	for i := range 8 {
		file(fmt.Sprintf("devices/system/node/node%d/cpulist", i), span(i, 8))
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/bus/pci/devices"), 0o755); err != nil {
		tb.Fatal(err)
	}
	for i := range devices {
		pci := fmt.Sprintf("%04x:%02x:00.0", i/256, i%256)
		dir := fmt.Sprintf("devices/pci%04x:00/%04x:00:01.0/%s", i/256, i/256, pci)
		class, vendor := "0x060400", "0x8086"
		switch {
		case i < 8:
			class, vendor = "0x030200", "0x10de"
		case i < 40:
			class, vendor = "0x020000", "0x1d0f"
			file(fmt.Sprintf("%s/infiniband/rdmap%ds0/node_type", dir, i), "1: CA")
		}
		file(dir+"/class", class)
		file(dir+"/vendor", vendor)
		file(dir+"/local_cpulist", span(i%8, 8))
		file(dir+"/current_link_speed", "32.0 GT/s PCIe")
		file(dir+"/current_link_width", "16")
		if err := os.Symlink(filepath.Join(root, "sys", dir), filepath.Join(root, "sys/bus/pci/devices", pci)); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// TestLarge: the benchmark reads the machine that it means.
func TestLarge(t *testing.T) {
	m, err := ReadSys(large(t, 192, 400))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]int{}
	for _, d := range m.Devices {
		kinds[d.Kind]++
	}
	if len(m.Packages) != 2 || len(m.Nodes) != 8 || kinds[GPU] != 8 || kinds[RDMA] != 32 || len(m.Devices) != 40 {
		t.Errorf("%d packages, %d nodes, %v", len(m.Packages), len(m.Nodes), kinds)
	}
}

// BenchmarkReadSys reads /sys of a large host, which takes hundreds of files.
func BenchmarkReadSys(b *testing.B) {
	root := large(b, 192, 400)
	for b.Loop() {
		if _, err := ReadSys(root); err != nil {
			b.Fatal(err)
		}
	}
}
