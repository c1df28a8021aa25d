package doctor

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"libshmem/runtime/config"
	"libshmem/runtime/topo"
)

// groups returns the folders of this process's control group for a controller and of the groups
// above it, as far as they are visible, the process's own group first. v2 reports whether the files
// in these folders are those of cgroup v2.
func (s *System) groups(controller string) (dirs []string, v2 bool) {
	table, _ := s.text("proc/self/mountinfo")
	own, _ := s.text("proc/self/cgroup")
	for _, v2 := range []bool{false, true} {
		group := "" // this process's group
		for line := range strings.Lines(own) {
			// A line is a number, the controllers and the group, with colons between them.
			part := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(part) == 3 && (v2 && part[0] == "0" && part[1] == "" || !v2 && slices.Contains(strings.Split(part[1], ","), controller)) {
				group = part[2]
			}
		}
		for line := range strings.Lines(table) {
			// The fourth word of a line is the group at the root of a mount, the fifth the folder
			// of the mount; after a dash follow its type, its source and its options.
			left, right, _ := strings.Cut(line, " - ")
			mount, kind := strings.Fields(left), strings.Fields(right)
			if group == "" || len(mount) < 5 || len(kind) < 3 {
				continue
			}
			if v2 && kind[0] == "cgroup2" || !v2 && kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), controller) {
				return s.upwards(mount[4], strings.TrimPrefix(group, mount[3])), v2
			}
		}
	}
	return nil, false
}

// upwards returns those folders from mount/below up to mount that exist: in a container the mount
// itself may be the container's group.
func (s *System) upwards(mount, below string) []string {
	var dirs []string
	for at := path.Join("/", below); ; at = path.Dir(at) {
		if dir := path.Join(mount, at); s.exists(dir) {
			dirs = append(dirs, dir)
		}
		if at == "/" {
			return dirs
		}
	}
}

// quota returns the number of processors that the control group in dir grants; 0: all. v2: the
// group is of cgroup v2.
func (s *System) quota(dir string, v2 bool) float64 {
	var granted, period string // CPU time in each period, in microseconds
	if v2 {
		text, _ := s.text(dir, "cpu.max")
		granted, period, _ = strings.Cut(text, " ")
	} else {
		granted, _ = s.text(dir, "cpu.cfs_quota_us")
		period, _ = s.text(dir, "cpu.cfs_period_us")
	}
	part, err1 := strconv.ParseFloat(granted, 64) // "max" and -1 mean no quota
	whole, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || part <= 0 || whole <= 0 {
		return 0
	}
	return part / whole
}

// throttled reads a control group's statistics of its CPU quota: in how many periods the group ran,
// in how many of them the kernel stopped the group because the quota was used up, and for how long
// in total.
func (s *System) throttled(dir string) (periods, stopped uint64, long time.Duration) {
	text, _ := s.text(dir, "cpu.stat")
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			continue
		}
		switch name {
		case "nr_periods":
			periods = n
		case "nr_throttled":
			stopped = n
		case "throttled_usec": // of cgroup v2
			long = time.Duration(n) * time.Microsecond
		case "throttled_time": // of cgroup v1, in nanoseconds
			long = time.Duration(n)
		}
	}
	return periods, stopped, long
}

// processors reports the processors that this process may use, and the limits of the control groups
// on them.
func (s *System) processors(*config.Config) []Finding {
	const subject = "processors"
	const raise = "raise the limit (docker --cpus, limits.cpu of a pod, CPUQuota of a unit), or start fewer PEs"
	set, err := topo.ParseSet(s.status("Cpus_allowed_list"))
	allowed := set.Count()
	if err != nil || allowed == 0 {
		return []Finding{Lack(subject, "mount proc at /proc", "/proc/self/status does not say which may be used")}
	}
	dirs, v2 := s.groups("cpu")
	granted, by := 0.0, ""
	var all []Finding
	for _, dir := range dirs {
		if q := s.quota(dir, v2); q > 0 && (granted == 0 || q < granted) {
			granted, by = q, dir
		}
		// If fewer than a hundredth of the periods were throttled, the reason may be a busy moment
		// at the start.
		if periods, stopped, long := s.throttled(dir); stopped*100 > periods && len(all) == 0 {
			all = append(all, Bad("throttling", raise, "%s was stopped in %d of %d periods, for %v in all: its PEs stood still, and so did all that waited for them",
				dir, stopped, periods, long.Round(time.Millisecond)))
		}
	}
	switch {
	case granted == 0 || granted >= float64(allowed):
		all = append(all, Well(subject, "%d", allowed))
	case granted < 1:
		all = append(all, Bad(subject, raise, "%s grants %.2f of %d: a PE that polls is stopped in each period", by, granted, allowed))
	default:
		all = append(all, Lack(subject, raise, "%s grants %.1f of %d: more threads that poll, two for each PE with a network, are stopped in each period", by, granted, allowed))
	}
	return all
}

// memory reports the memory limit of the control groups, against which the symmetric heap counts.
func (s *System) memory(cfg *config.Config) []Finding {
	const subject = "memory"
	dirs, v2 := s.groups("memory")
	name := "memory.limit_in_bytes"
	if v2 {
		name = "memory.max"
	}
	for _, dir := range dirs {
		// Where there is no limit the text is max, or a number near to 2^63.
		if n, ok := s.number(dir, name); ok && n < cfg.SymmetricSize {
			return []Finding{Lack(subject, "raise the limit (docker --memory, limits.memory of a pod, --mem of Slurm), or lower SHMEM_SYMMETRIC_SIZE",
				"%s grants %s, and a PE that fills its heap of SHMEM_SYMMETRIC_SIZE=%s is killed", dir, config.FormatSize(n), config.FormatSize(cfg.SymmetricSize))}
		}
	}
	return []Finding{Well(subject, "a heap of SHMEM_SYMMETRIC_SIZE=%s fits the limits of the control groups; /dev/shm is not used", config.FormatSize(cfg.SymmetricSize))}
}
