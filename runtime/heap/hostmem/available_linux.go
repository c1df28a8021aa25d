package hostmem

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"

	"libshmem/runtime/shmerr"
)

// machine reads how much memory is left. root is a prefix of every path, and empty except in tests.
type machine struct{ root string }

// available returns how many bytes this process can still allocate: the least of what the machine
// and each control group of the process have left. source names the one that has the least. Swap
// of the machine counts, since the symmetric heap can be swapped out.
func (m machine) available() (bytes uint64, source string, err error) {
	info, err := m.meminfo()
	if err != nil {
		return 0, "", err
	}
	bytes, source = info["MemAvailable"]+info["SwapFree"], "the machine"
	// vm.overcommit_memory=2: the promises to all processes together are bounded.
	if m.number("/proc/sys/vm/overcommit_memory") == 2 {
		left := info["CommitLimit"] - min(info["Committed_AS"], info["CommitLimit"])
		if left < bytes {
			bytes, source = left, "the machine under vm.overcommit_memory=2"
		}
	}
	for _, g := range m.groups() {
		if left, ok := m.groupLeft(g); ok && left < bytes {
			bytes, source = left, "control group "+g.name
		}
	}
	return bytes, source, nil
}

// meminfo reads /proc/meminfo: the bytes of each entry, by its name.
func (m machine) meminfo() (map[string]uint64, error) {
	text, err := os.ReadFile(m.root + "/proc/meminfo")
	if err != nil {
		return nil, shmerr.Causef(shmerr.ErrSystem, "%w", err)
	}
	info := make(map[string]uint64)
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) > 0 {
			n, _ := strconv.ParseUint(f[0], 10, 64)
			info[name] = n * 1024 // the file has KiB
		}
	}
	if _, ok := info["MemAvailable"]; !ok {
		return nil, shmerr.Causef(shmerr.ErrSystem, "/proc/meminfo has no MemAvailable")
	}
	return info, nil
}

// group is one directory of the control group hierarchy that bounds memory.
type group struct {
	name    string // as the process sees it
	dir     string // in the file system
	unified bool   // version 2
}

// groups lists the control groups of this process, from its own up to the
// root of the mount: every one of them may have a limit.
func (m machine) groups() []group {
	own := make(map[bool]string) // unified: path in the hierarchy
	m.eachLine("/proc/self/cgroup", func(line string) {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) < 3:
		case f[0] == "0" && f[1] == "":
			own[true] = f[2]
		case hasWord(f[1], ",", "memory"):
			own[false] = f[2]
		}
	})
	var groups []group
	// mountinfo: id parent device root mountpoint options [tags] - type source superoptions
	m.eachLine("/proc/self/mountinfo", func(line string) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			return
		}
		unified := r[0] == "cgroup2"
		if !unified && !(r[0] == "cgroup" && hasWord(r[2], ",", "memory")) {
			return
		}
		at, mounted := own[unified]
		if !mounted {
			return
		}
		// A container may see only the part of the hierarchy below the mount's root, l[3]. Groups
		// outside of that part are not in this mount.
		if at != l[3] && !strings.HasPrefix(at, strings.TrimSuffix(l[3], "/")+"/") {
			return
		}
		for at = path.Clean("/" + strings.TrimPrefix(at, l[3])); ; at = path.Dir(at) {
			groups = append(groups, group{name: at, dir: m.root + path.Join(l[4], at), unified: unified})
			if at == "/" {
				return
			}
		}
	})
	return groups
}

// unlimited, in bytes, is above every real limit. Without a limit, version 1 of control groups
// shows 2^63 less one page, which is more.
const unlimited = 1 << 62

// groupLeft returns how many bytes a control group has left: its limit less the memory in use, not
// counting cached files that the kernel would drop first. It reports false if there is no limit.
func (m machine) groupLeft(g group) (uint64, bool) {
	limitFile, useFile, cacheName := "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"
	if g.unified {
		limitFile, useFile, cacheName = "/memory.max", "/memory.current", "inactive_file"
	}
	limit, err := readNumber(g.dir + limitFile)
	if err != nil || limit > unlimited { // "max", or a root group, which has no such file
		return 0, false
	}
	use, err := readNumber(g.dir + useFile)
	if err != nil {
		return 0, false
	}
	stat, _ := os.ReadFile(g.dir + "/memory.stat")
	for line := range strings.Lines(string(stat)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == cacheName {
			cached, _ := strconv.ParseUint(value, 10, 64)
			use -= min(use, cached)
		}
	}
	return limit - min(use, limit), true
}

// number reads a file that holds one number; 0 if it cannot be read.
func (m machine) number(file string) uint64 {
	n, _ := readNumber(m.root + file)
	return n
}

// readNumber reads a file of the kernel that has one number.
func readNumber(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
}

// eachLine calls f with each line of a file, and not at all if the file cannot be read.
func (m machine) eachLine(file string, f func(string)) {
	text, err := os.ReadFile(m.root + file)
	if err != nil {
		return // this machine has no control groups
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		f(s.Text())
	}
}

// hasWord reports whether a list contains a word as a whole entry.
func hasWord(list, separator, word string) bool {
	for w := range strings.SplitSeq(list, separator) {
		if w == word {
			return true
		}
	}
	return false
}
