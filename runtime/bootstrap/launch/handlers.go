package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
	"libshmem/runtime/shmerr"
)

// pass sends a signal to those processes of the PEs that have a handler for it. A process without
// one would end: a shell around the program, or a PE that has not loaded the library yet.
func (j *job) pass(sig unix.Signal) {
	for _, l := range j.links {
		l.out.send(relay.Frame{Kind: relay.Pass, PE: relay.All, Payload: relay.Number(uint32(sig))})
	}
	if text := passTo(j.procs, sig); text != "" {
		j.out.say(text)
	}
}

// passTo sends a signal to those processes in the process groups of the PEs on this host that have
// a handler. It returns a message about PEs without such a process, or "".
func passTo(procs []*process, sig unix.Signal) string {
	processes := groups()
	var without []libshmem.PE
	for _, p := range procs {
		if p.exited || p.link != nil { // the agent of a PE on another host does this
			continue
		}
		handled := false
		for _, pid := range processes[p.pid] {
			if handles(pid, sig) {
				handled = true
				_ = unix.Kill(pid, sig) // it may end meanwhile
			}
		}
		if !handled {
			without = append(without, p.pe)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("got signal %d (%v): it is not passed on to %s, which had no handler (PEs have one once they have loaded the library)",
		sig, sig, shmerr.PEs(without))
}

// groups returns the ids of the machine's processes by process group, from /proc; nil if that
// cannot be read.
func groups() map[int][]int {
	all := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if group, err := unix.Getpgid(pid); err == nil {
				all[group] = append(all[group], pid)
			}
		}
	}
	return all
}

// handles reports whether a process handles or ignores a signal.
func handles(pid int, sig unix.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		name, mask, _ := strings.Cut(line, ":")
		if name != "SigIgn" && name != "SigCgt" {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err == nil && set>>(sig-1)&1 != 0 {
			return true
		}
	}
	return false
}
