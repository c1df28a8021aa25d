package statuspage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// Find opens the status pages of a process: that of the PE first, then those of its endpoints. The
// caller closes them. If the process has none, the error lists processes that have.
func Find(pid int) ([]*View, error) {
	object := fmt.Sprintf("process %d", pid)
	fail := func(remedy string, format string, args ...any) error {
		return &shmerr.Error{Op: "look at", Object: object, Cause: shmerr.Causef(shmerr.ErrArgument, format, args...), Remedy: remedy}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fail(others(), "there is no such process")
	}
	// The process's name is in parentheses and may itself contain some.
	name, rest := string(stat), ""
	if i, k := strings.IndexByte(name, '('), strings.LastIndexByte(name, ')'); i >= 0 && k > i {
		name, rest = name[i+1:k], strings.TrimSpace(name[k+1:])
	}
	if strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X") {
		return nil, fail("its parent has not asked for its status yet", "%s has ended", name)
	}
	views, parent, err := pages(pid)
	var version *VersionError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fail("run shmem-info as the user whose process it is, and not from another container", "%s is not yours to look at: permission denied", name)
	case errors.As(err, &version):
		return nil, fail("run the shmem-info that is installed beside that library", "%w, and this is shmem-info %s", version, libshmem.Version)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail("", "%s has ended", name)
	case err != nil:
		return nil, fail("", "%w", err)
	case len(views) == 0 && parent != 0:
		return nil, fail(fmt.Sprintf("look at process %d", parent), "%s is a child of a PE, and not a PE itself", name)
	case len(views) == 0:
		return nil, fail(others(), "%s is not a PE between shmem_init and shmem_finalize", name)
	}
	return views, nil
}

// pages opens the status pages of a process, the PE's page first. It returns none if the PE is
// still in its init or already in its finalize. If the process has inherited the files of its
// parent's pages, pages returns the parent's process ID as parent.
func pages(pid int) (views []*View, parent int, err error) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(files, func(a, b fs.DirEntry) int { return number(a.Name()) - number(b.Name()) })
	for _, f := range files {
		file := filepath.Join(folder, f.Name())
		if target, err := os.Readlink(file); err != nil || target != "/memfd:"+fileName+" (deleted)" {
			continue
		}
		v, err := view(file, pid)
		var stranger *strangerError
		switch {
		case errors.As(err, &stranger):
			parent = stranger.pid
			continue
		case err != nil:
			closeAll(views)
			return nil, 0, err
		}
		// The process may have a file open twice.
		if slices.ContainsFunc(views, v.samePage) {
			_ = v.Close()
			continue
		}
		views = append(views, v)
	}
	slices.SortStableFunc(views, func(a, b *View) int { return int(a.Kind) - int(b.Kind) })
	if len(views) > 0 && views[0].Kind != OfPE {
		closeAll(views) // the PE is still in its init, or already in its finalize
		views = nil
	}
	return views, parent, nil
}

// closeAll closes pages.
func closeAll(views []*View) {
	for _, v := range views {
		_ = v.Close()
	}
}

// number converts a decimal number, and returns 0 for any other text.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// maxNamed caps the PEs that the remedy of an error names.
const maxNamed = 8

// others lists running PEs of this user on this host, at most maxNamed, as the remedy of an error
// about a wrong process id.
func others() string {
	files, err := os.ReadDir("/proc")
	if err != nil {
		return ""
	}
	var named []string
	for _, f := range files {
		pid := number(f.Name())
		if pid == 0 {
			continue
		}
		views, _, err := pages(pid)
		if err != nil || len(views) == 0 {
			continue
		}
		if page, err := views[0].PE(); err == nil {
			named = append(named, fmt.Sprintf("%d is PE %d", pid, page.Me))
		}
		closeAll(views)
		if len(named) > maxNamed {
			named[maxNamed] = "and others"
			break
		}
	}
	if len(named) == 0 {
		return "no PE of yours runs here"
	}
	return strings.Join(named, ", ")
}

// Waiting describes a thread of a PE that waits.
type Waiting struct {
	Since      uint64 // when the wait began, in nanoseconds of the clock of Now
	Call, What string // the call that waits, and for what
}

// Waiting lists the PE's waiting threads. A thread enters its wait in the page only after it has
// waited for some time, so that short waits are not listed.
func (p *PE) Waiting() (all []Waiting) {
	for i := range p.Waits {
		w := &p.Waits[i]
		since := atomic.LoadUint64(&w.Since)
		if since == 0 {
			continue
		}
		// If Since is the same before and after the texts are read, they belong to one wait.
		found := Waiting{since, Text(w.Call[:]), Text(w.What[:])}
		if atomic.LoadUint64(&w.Since) == since {
			all = append(all, found)
		}
	}
	return all
}

// Now returns the present time of CLOCK_MONOTONIC in nanoseconds, the clock of the times in status
// pages.
func Now() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}
