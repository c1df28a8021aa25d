package doctor

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"libshmem/runtime/config"
)

// kernel returns findings about the kernel's version, and about its boot ID, by which PEs find out
// whether they are on one host.
func (s *System) kernel(*config.Config) []Finding {
	const subject = "kernel"
	release, ok := s.text("proc/sys/kernel/osrelease")
	if !ok {
		return []Finding{Bad(subject, "mount proc at /proc", "%s cannot be read: the library finds neither its host nor the limits there", s.path("proc"))}
	}
	var all []Finding
	var major, minor int
	// The registration cache needs userfaultfd of Linux 5.11. A version of another form counts as
	// newer.
	if n, err := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && err == nil && major*1000+minor < 5011 {
		all = append(all, Lack(subject, "Linux 5.11 or later keeps buffers registered",
			"Linux %s: buffers outside the heap are registered for each operation, where the NIC wants that", release))
	} else {
		all = append(all, Well(subject, "Linux %s", release))
	}
	if _, ok := s.text("proc/sys/kernel/random/boot_id"); !ok {
		all = append(all, Bad("host", "make it readable in the container, or give each host its own SHMEM_HOST_ID",
			"/proc/sys/kernel/random/boot_id cannot be read: PEs cannot find out with which others they share memory"))
	}
	return all
}

// unlimited stands for no limit.
const unlimited = math.MaxUint64

// limit returns this process's soft limit in the line of /proc/self/limits that begins with name;
// false if there is no such line.
func (s *System) limit(name string) (n uint64, ok bool) {
	text, _ := s.text("proc/self/limits")
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name)
		fields := strings.Fields(rest)
		if !found || len(fields) < 2 {
			continue
		}
		if fields[0] == "unlimited" {
			return unlimited, true
		}
		n, err := strconv.ParseUint(fields[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}

// ownMemory is the most that a PE registers besides its heap: the area below it, and buffers for
// messages (docs/concepts/scale.md).
const ownMemory = 64 << 20

// locked returns a finding about the limit memlock, which bounds the memory that a process can
// register with RDMA NICs.
func (s *System) locked(cfg *config.Config) []Finding {
	const subject = "memlock"
	n, ok := s.limit("Max locked memory")
	nics := s.NICs()
	switch {
	case !ok:
		return []Finding{Lack(subject, "mount proc at /proc", "/proc/self/limits does not say")}
	case n == unlimited:
		return []Finding{Well(subject, "unlimited")}
	case s.may(capIPCLock):
		return []Finding{Well(subject, "%s, which does not bind a process with CAP_IPC_LOCK", config.FormatSize(n))}
	case len(nics) == 0:
		return []Finding{Well(subject, "%s, and no NIC here locks memory", config.FormatSize(n))}
	case n < cfg.SymmetricSize+ownMemory:
		return []Finding{Bad(subject,
			"ulimit -l unlimited before the job; permanently: memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, --ulimit memlock=-1 for docker",
			"%s may be locked, and NIC %s locks the heap of SHMEM_SYMMETRIC_SIZE=%s and up to %s of the library's", config.FormatSize(n), nics[0],
			config.FormatSize(cfg.SymmetricSize), config.FormatSize(ownMemory))}
	}
	return []Finding{Well(subject, "%s, enough for a heap of SHMEM_SYMMETRIC_SIZE=%s and the library's own memory", config.FormatSize(n), config.FormatSize(cfg.SymmetricSize))}
}

// hugePages returns a finding about huge pages, which heaps in main memory use if the kernel allows
// that.
func (s *System) hugePages(*config.Config) []Finding {
	const subject, file = "huge pages", "sys/kernel/mm/transparent_hugepage/shmem_enabled"
	text, _ := s.text(file)
	_, rest, _ := strings.Cut(text, "[")
	switch chosen, _, ok := strings.Cut(rest, "]"); {
	case !ok:
		return nil // this kernel has no huge pages
	case chosen == "never" || chosen == "deny":
		return []Finding{Lack(subject, "as root: echo advise > /"+file+"; no job needs it", "heaps in main memory have pages of 4 KiB: %s is %s", file, chosen)}
	default:
		return []Finding{Well(subject, "heaps in main memory have them: %s is %s", file, chosen)}
	}
}

// fewFiles is about the number of files that a PE needs in a job of some hundred PEs over tcp: a
// socket for each PE on another host, and the program's own files.
const fewFiles = 1024

// files returns a finding about the limit of open files.
func (s *System) files(*config.Config) []Finding {
	const subject = "open files"
	n, ok := s.limit("Max open files")
	if !ok {
		return nil
	}
	if n < fewFiles {
		return []Finding{Lack(subject, fmt.Sprintf("ulimit -n %d or more", fewFiles), "at most %d, and over tcp each PE on another host takes one", n)}
	}
	return []Finding{Well(subject, "%s", describe(n))}
}

// describe returns a limit in words.
func describe(n uint64) string {
	if n == unlimited {
		return "unlimited"
	}
	return fmt.Sprintf("at most %d", n)
}

// tracing reports which processes may attach a debugger to a PE. The library itself does not need
// ptrace: PEs of a host share memory by passing file descriptors.
func (s *System) tracing(*config.Config) []Finding {
	const subject = "ptrace"
	scope, ok := s.number("proc/sys/kernel/yama/ptrace_scope")
	switch {
	case !ok || scope == 0:
		return []Finding{Well(subject, "debuggers may attach to processes of the same user; the library does not need that")}
	case scope < 3 && s.may(capSysPtrace):
		return []Finding{Well(subject, "CAP_SYS_PTRACE lets debuggers attach; the library does not need that")}
	}
	who := cmp.Or(map[uint64]string{1: "only to their own children", 2: "only with CAP_SYS_PTRACE"}[scope], "to nothing, until the machine is restarted")
	return []Finding{Lack(subject, "nothing to do for jobs, which do not need it; for gdb -p: sysctl kernel.yama.ptrace_scope=0",
		"kernel.yama.ptrace_scope is %d: debuggers attach %s", scope, who)}
}
