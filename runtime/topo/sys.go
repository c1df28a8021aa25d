package topo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// ReadSys describes this machine from the kernel's files in /sys, for machines without hwloc. root
// is a folder that precedes the path, and is empty except in tests.
func ReadSys(root string) (*Machine, error) {
	s := sysfs(filepath.Join(root, "/sys"))
	m := &Machine{Source: "this machine, " + string(s), Name: s.text("class/dmi/id/product_name")}
	var err error
	if m.CPUs, err = ParseSet(s.text("devices/system/cpu/online")); err == nil && m.CPUs == "" {
		err = fmt.Errorf("no processors in %s", s.path("devices/system/cpu/online"))
	}
	if err != nil {
		return nil, &shmerr.Error{
			Op: "read topology", Object: m.Source, Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err),
			Remedy: "mount sysfs at /sys, or install hwloc",
		}
	}
	s.packages(m)
	for _, dir := range s.glob("devices/system/node/node[0-9]*") {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		cpus, err2 := ParseSet(s.text("devices/system/node", filepath.Base(dir), "cpulist"))
		if err == nil && err2 == nil {
			m.Nodes = append(m.Nodes, Node{number, cpus})
		}
	}
	for _, dir := range s.glob("bus/pci/devices/*") {
		if d, ok := s.device(dir); ok {
			m.Devices = append(m.Devices, d)
		}
	}
	m.tidy()
	return m, nil
}

// sysfs is the path of /sys, or of a copy in tests.
type sysfs string

// path returns the name of a file below the root.
func (s sysfs) path(parts ...string) string {
	return filepath.Join(append([]string{string(s)}, parts...)...)
}

// text returns the text of a file; "" if it cannot be read. A large host has hundreds of files to
// read, and the three system calls for each take half the time of the seven of os.ReadFile. A read
// of a file in /sys that returns fewer bytes than the buffer has reached the end of the file.
func (s sysfs) text(parts ...string) string {
	fd, err := unix.Open(s.path(parts...), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(s.path(parts...), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return ""
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var all []byte
	for {
		var buffer [4096]byte
		n, err := unix.Read(fd, buffer[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return ""
		case n < len(buffer):
			return strings.TrimSpace(string(append(all, buffer[:n]...)))
		default:
			all = append(all, buffer[:n]...)
		}
	}
}

// glob lists the files below the root that match a pattern.
func (s sysfs) glob(pattern string) []string {
	files, _ := filepath.Glob(s.path(pattern)) // its only error is a malformed pattern
	return files
}

// packages finds the sockets: the processor list in /sys of any processor has all processors of its
// socket.
func (s sysfs) packages(m *Machine) {
	var known Set
	for _, cpu := range m.CPUs.List() {
		if NewSet(cpu).Within(known) {
			continue
		}
		dir := filepath.Join("devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology")
		list := s.text(dir, "package_cpus_list")
		if list == "" {
			list = s.text(dir, "core_siblings_list") // its name before Linux 5.3
		}
		cpus, err := ParseSet(list)
		if err != nil || cpus == "" {
			return
		}
		m.Packages = append(m.Packages, cpus)
		known = NewSet(append(known.List(), cpus.List()...)...)
	}
}

// noNIC are PCI classes that most devices of a large host have, and no NIC: storage, memory,
// bridges, parts of the system, instruments. device does not search the folders of such devices.
// Serial buses (0x0c) are not among them, because older InfiniBand NICs have that class.
var noNIC = []uint64{0x01, 0x05, 0x06, 0x08, 0x13}

// device describes a PCI device by its folder; false if it is neither a GPU nor a NIC.
func (s sysfs) device(dir string) (Device, bool) {
	pci := filepath.Base(dir)
	read := func(name string) string { return s.text("bus/pci/devices", pci, name) }
	d := Device{PCI: address(pci)}
	number := func(name string) uint64 {
		v, err := strconv.ParseUint(strings.TrimPrefix(read(name), "0x"), 16, 32)
		if err != nil {
			return 0
		}
		return v
	}
	switch class := number("class") >> 8; {
	case class>>8 == classDisplay && isGPU(class, number("vendor")):
		d.Kind = GPU
	case slices.Contains(noNIC, class>>8):
	default:
		for _, n := range s.functions(pci) {
			if d.Names = append(d.Names, n.names...); d.Kind == 0 {
				d.Kind = n.kind
			}
		}
	}
	if d.Kind == 0 {
		return d, false
	}
	d.Speed = linkSpeed(read("current_link_speed"), read("current_link_width"))
	if cpus, err := ParseSet(read("local_cpulist")); err == nil {
		d.CPUs = cpus
	}
	if full, err := os.Readlink(dir); err == nil { // the link's path names all bridges
		d.Bridges = bridges(filepath.Clean(full))
	}
	return d, true
}

// function is what the kernel uses a NIC for, and the names that the NIC has in that use.
type function struct {
	names []string
	kind  Kind
}

// functions lists the functions of a device, the RDMA ones first; a device that is not a NIC has
// none. Most devices of a large host are not NICs: one list of the folder of each takes six tenths
// of the time of four patterns.
func (s sysfs) functions(pci string) []function {
	entries, err := os.ReadDir(s.path("bus/pci/devices", pci))
	if err != nil {
		return nil
	}
	var found [4]function // in the order of the cases below, whatever the order of the folder
	for _, e := range entries {
		rank, pattern, kind := 0, "*", RDMA
		switch name := e.Name(); {
		case name == "infiniband":
		case name == "cxi":
			rank, pattern = 1, "cxi*"
		case name == "net":
			rank, kind = 2, Ethernet
		case strings.HasPrefix(name, "virtio"):
			rank, pattern, kind = 3, "net/*", Ethernet
		default:
			continue
		}
		for _, file := range s.glob("bus/pci/devices/" + pci + "/" + e.Name() + "/" + pattern) {
			found[rank].names = append(found[rank].names, filepath.Base(file))
			found[rank].kind = kind
		}
	}
	return slices.DeleteFunc(found[:], func(f function) bool { return f.kind == 0 })
}

// bridges returns the PCI bridges on the way to a device, the root complex (pci0000:00) first. path
// is the folder in /sys to which the device's link leads.
func bridges(path string) []string {
	var list []string
	parts := strings.Split(filepath.Dir(path), "/")
	for _, part := range parts {
		if domain, ok := strings.CutPrefix(part, "pci"); ok && strings.Count(domain, ":") == 1 {
			list = []string{address(domain)}
		} else if len(list) > 0 && checkAddress(part) == nil {
			list = append(list, address(part))
		}
	}
	return list
}

// linkSpeed returns the speed of a PCI link in GB/s, from texts of sysfs such as "16.0 GT/s PCIe"
// and "16". A text that is no number, such as "Unknown" of a link without a speed, gives 0.
func linkSpeed(rate, width string) float64 {
	first, _, _ := strings.Cut(rate, " ")
	transfers, err1 := strconv.ParseFloat(first, 64)
	lanes, err2 := strconv.ParseFloat(width, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	if transfers <= 5 {
		return transfers * lanes * 8 / 10 / 8 // 8 bits are sent as 10
	}
	return transfers * lanes * 128 / 130 / 8 // 128 bits are sent as 130
}

// GPUsHere returns the PCI addresses of the GPUs that this process may use, as far as the driver
// shows them: a container sees only its own. CUDA_VISIBLE_DEVICES has no effect, so that processes
// to which it shows different GPUs get the same list.
func GPUsHere(root string) []string {
	files, _ := filepath.Glob(filepath.Join(root, "/proc/driver/nvidia/gpus/*"))
	var list []string
	for _, f := range files {
		list = append(list, address(filepath.Base(f)))
	}
	return list
}

// OneNode reports whether this machine has one NUMA node, so that nothing is nearer to some
// processors than to others. It reads one file; reading the whole topology takes milliseconds.
func OneNode(root string) bool {
	nodes, err := ParseSet(sysfs(filepath.Join(root, "/sys")).text("devices/system/node/has_cpu"))
	return err == nil && nodes.Count() < 2
}
