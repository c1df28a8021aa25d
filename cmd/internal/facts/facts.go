// Package facts reads the facts of a machine on which a measured figure depends: its processors and
// their governor, its load, its NICs with their speeds, and limits on their rates.
//
// It reads files below a root, so that a test can replace them, and limits on rates from the
// kernel, by netlink. It does not evaluate the facts (cmd/internal/figure does), and calls no
// library and no driver.
package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
)

// A Host is the machine of a PE.
type Host struct {
	PE         int     `json:"pe"`
	Date       string  `json:"date,omitempty"`
	Version    string  `json:"libshmem,omitempty"`
	CPU        string  `json:"cpu,omitempty"`
	Processors int     `json:"processors,omitempty"` // those that the PE may use: fewer than the machine's if it is bound
	Online     int     `json:"online,omitempty"`     // all processors of the machine
	MemoryGiB  float64 `json:"memory_gib,omitempty"`
	Kernel     string  `json:"kernel,omitempty"`
	Load       float64 `json:"load,omitempty"` // of the last minute, before the run
	Governor   string  `json:"governor,omitempty"`
	MHz        int     `json:"mhz,omitempty"` // the present frequency of the slowest processor
	MaxMHz     int     `json:"most_mhz,omitempty"`
	NICs       []NIC   `json:"nics,omitempty"`
}

// A NIC is a network interface, or a port of an RDMA device under the name of the device.
type NIC struct {
	Name  string `json:"name"`
	Mbps  int    `json:"mbps,omitempty"` // 0: the kernel does not say
	Up    bool   `json:"up"`
	Limit int    `json:"limit_mbps,omitempty"` // a limit on its rate; 0: none is known
	By    string `json:"by,omitempty"`         // the kind of queue that limits it, such as tbf
}

// Read reads the facts of this machine from files below root, which is "" for its own. The number
// of processors that the PE may use, the kernel's release and the limits on rates are this
// machine's in any case.
func Read(root string) Host {
	h := Host{Date: time.Now().UTC().Format(time.RFC3339), Version: libshmem.Version, Processors: runtime.NumCPU()}
	h.CPU = valueOf(readText(root, "proc/cpuinfo"), "model name")
	if kib, err := strconv.Atoi(strings.TrimSuffix(valueOf(readText(root, "proc/meminfo"), "MemTotal"), " kB")); err == nil {
		h.MemoryGiB = float64(kib>>10) / 1024
	}
	if load, _, ok := strings.Cut(readText(root, "proc/loadavg"), " "); ok {
		h.Load, _ = strconv.ParseFloat(load, 64) // 0 if the file has no number
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	h.readProcessors(root)
	h.readInterfaces(root)
	h.readLimits()
	return h
}

// readText returns the content of a file below root without the white space around it, or "" where
// it cannot be read.
func readText(root string, parts ...string) string {
	data, _ := os.ReadFile(filepath.Join(append([]string{"/", root}, parts...)...))
	return strings.TrimSpace(string(data))
}

// parseNumber returns a number of 0 or more; for any other text it returns 0.
func parseNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// valueOf returns the value of the first line "key: value" of a text such as /proc/cpuinfo, or "".
func valueOf(all, key string) string {
	for line := range strings.Lines(all) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// readProcessors reads the number of processors, their governors and frequencies. Of all processors
// it stores the governor that saves most power and the lowest frequency, because the slowest one
// decides.
func (h *Host) readProcessors(root string) {
	dirs, _ := filepath.Glob(filepath.Join("/", root, "sys/devices/system/cpu/cpu[0-9]*")) // the pattern is valid
	h.Online = len(dirs)
	// The governors, from the one that saves most power to the fastest.
	governors := []string{"powersave", "conservative", "userspace", "ondemand", "schedutil", "performance"}
	for _, dir := range dirs {
		below := func(name string) string { return readText("", dir, "cpufreq", name) }
		if g := below("scaling_governor"); g != "" && (h.Governor == "" || slices.Index(governors, g) < slices.Index(governors, h.Governor)) {
			h.Governor = g
		}
		if now := parseNumber(below("scaling_cur_freq")) / 1000; now > 0 && (h.MHz == 0 || now < h.MHz) {
			h.MHz = now
		}
		h.MaxMHz = max(h.MaxMHz, parseNumber(below("cpuinfo_max_freq"))/1000)
	}
}

// readInterfaces reads the network interfaces, except the loopback, and the RDMA devices, with
// their speeds.
func (h *Host) readInterfaces(root string) {
	dirs, _ := filepath.Glob(filepath.Join("/", root, "sys/class/net/*"))
	for _, dir := range dirs {
		// ifb devices only shape what other interfaces receive.
		if name := filepath.Base(dir); name != "lo" && !strings.HasPrefix(name, "ifb") {
			h.NICs = append(h.NICs, NIC{Name: name, Mbps: parseNumber(readText("", dir, "speed")), Up: readText("", dir, "operstate") == "up"})
		}
	}
	dirs, _ = filepath.Glob(filepath.Join("/", root, "sys/class/infiniband/*"))
	for _, dir := range dirs {
		port := filepath.Join(dir, "ports/1")
		rate, _, _ := strings.Cut(readText("", port, "rate"), " ") // 100 Gb/sec (4X EDR)
		gbps, _ := strconv.ParseFloat(rate, 64)
		h.NICs = append(h.NICs, NIC{Name: filepath.Base(dir), Mbps: int(gbps * 1000), Up: strings.Contains(readText("", port, "state"), "ACTIVE")})
	}
}

// NIC finds a NIC by its name, or by the name of a libfabric domain: the NIC's with a suffix such
// as -rdm.
func (h *Host) NIC(name string) (NIC, bool) {
	for _, n := range h.NICs {
		if n.Name == name || strings.HasPrefix(name, n.Name+"-") {
			return n, true
		}
	}
	return NIC{}, false
}

// Rate returns a speed as a text, such as "100 Gb/s".
func Rate(mbps int) string {
	if mbps >= 1000 && mbps%100 == 0 {
		return strconv.FormatFloat(float64(mbps)/1000, 'g', -1, 64) + " Gb/s"
	}
	return fmt.Sprintf("%d Mb/s", mbps)
}
