package statuspage

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"libshmem"
)

func newPE(t *testing.T) (*Page, *PE) {
	t.Helper()
	page, pe, err := NewPE(2, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if page.memory != nil {
			if err := page.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return page, pe
}

func TestFind(t *testing.T) {
	_, pe := newPE(t)
	end, err := Create(OfEndpoint, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	end.Bytes()[99] = 7
	views, err := Find(os.Getpid())
	if err != nil || len(views) != 2 || views[0].Kind != OfPE || views[1].Kind != OfEndpoint {
		t.Fatalf("%v, %v", views, err)
	}
	defer closeAll(views)
	got, err := views[0].PE()
	if err != nil || got.Me != 2 || got.NPEs != 5 || got.Nodes != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if b, err := views[1].Bytes(); err != nil || len(b) != 100 || b[99] != 7 {
		t.Errorf("%v, %v", b, err)
	}
	// Later looks see later values.
	pe.Stalls = 9
	copy(pe.Waits[3].Call[:], "shmem_quiet")
	copy(pe.Waits[3].What[:], "for PE 4")
	copy(pe.Waits[4].Call[:], "being written")
	atomic.StoreUint64(&pe.Waits[3].Since, Now())
	got, err = views[0].PE()
	if w := got.Waiting(); err != nil || got.Stalls != 9 || len(w) != 1 || w[0].Call != "shmem_quiet" || w[0].What != "for PE 4" {
		t.Errorf("%+v, %v", got, err)
	}
}

// refused checks Find's error for a process that cannot be looked at.
func refused(t *testing.T, pid int, want string) {
	t.Helper()
	views, err := Find(pid)
	closeAll(views)
	if err == nil || !regexp.MustCompile("^"+want+"$").MatchString(err.Error()) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestFindFails(t *testing.T) {
	me := os.Getpid()
	refused(t, me, fmt.Sprintf(`look at process %d: statuspage.test is not a PE between shmem_init and shmem_finalize \(.*\)`, me))
	refused(t, 1<<30, `look at process 1073741824: there is no such process \(.*\)`)

	page, _ := newPE(t)
	refused(t, 1<<30, fmt.Sprintf(`look at process 1073741824: there is no such process \(.*(\b%d is PE 2\b|and others).*\)`, me))

	// A child that has inherited the page.
	file, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", page.file))
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{file}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	file.Close()
	pid := child.Process.Pid
	refused(t, pid, fmt.Sprintf(`look at process %d: (sleep|live.test) is a child of a PE, and not a PE itself \(look at process %d\)`, pid, me))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // until it is there to be waited for
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(b), ") Z ") {
			break
		}
	}
	refused(t, pid, fmt.Sprintf(`look at process %d: (sleep|live.test) has ended \(its parent has not asked for its status yet\)`, pid))
	_ = child.Wait()

	h := (*head)(unsafe.Pointer(&page.memory[0]))
	copy(h.version[:], "9.9\x00")
	refused(t, me, fmt.Sprintf(`look at process %d: its libshmem is version 9.9, and this is shmem-info %s \(run the shmem-info that is installed beside that library\)`, me, libshmem.Version))
	copy(h.version[:], libshmem.Version+"\x00")
	h.magic = 0 // it is being made
	refused(t, me, fmt.Sprintf(`look at process %d: statuspage.test is not a PE .*`, me))
	h.magic = magic
	if views, err := Find(me); err != nil {
		t.Error(err)
	} else {
		closeAll(views)
	}
	if err := page.Close(); err != nil {
		t.Error(err)
	}
	page.memory = nil
	refused(t, me, fmt.Sprintf(`look at process %d: statuspage.test is not a PE .*`, me))
}
