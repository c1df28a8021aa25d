package mrcache_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/mrcache/pinned"
)

const page = 4096

var limits = mrcache.Limits{Bytes: 1 << 30, Regions: 32}

// deaf is a Watch that learns of no change.
type deaf struct{}

func (deaf) Add(memmonitor.Span) error          { return nil }
func (deaf) Changes(func(memmonitor.Span)) bool { return true }
func (deaf) Close() error                       { return nil }

func openWatch(t testing.TB) *memmonitor.Watch {
	t.Helper()
	w, err := memmonitor.Open()
	if err != nil {
		t.Skipf("needs userfaultfd: %v", err)
	}
	return w
}

func openNIC(t testing.TB) *pinned.NIC {
	t.Helper()
	nic, err := pinned.Open()
	if err != nil {
		t.Skipf("needs io_uring: %v", err)
	}
	t.Cleanup(func() {
		if err := nic.Close(); err != nil {
			t.Error(err)
		}
	})
	return nic
}

// anonymous maps n bytes, at an address if it is not nil.
func anonymous(t testing.TB, at unsafe.Pointer, n uintptr) unsafe.Pointer {
	t.Helper()
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if at != nil {
		flags |= unix.MAP_FIXED_NOREPLACE
	}
	p, err := unix.MmapPtr(-1, 0, at, n, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil || at != nil && p != at {
		t.Fatalf("mmap %d bytes at %p: %v, %v", n, at, p, err)
	}
	return p
}

func call(t testing.TB, what string, number uintptr, args ...uintptr) uintptr {
	t.Helper()
	a := slices.Grow(args, 6)[:6]
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		t.Fatalf("%s: %v", what, errno)
	}
	return r
}

// size is of the memory of each test, of which the middle is the buffer.
const size = 64 * page

// changes are the ways in which memory gets other pages. Each leaves memory that may
// be written at the same addresses.
var changes = []struct {
	name string
	do   func(t *testing.T, p unsafe.Pointer)
}{
	{"munmap", func(t *testing.T, p unsafe.Pointer) {
		call(t, "munmap", unix.SYS_MUNMAP, uintptr(p), size)
		anonymous(t, p, size)
	}},
	{"munmap of a part", func(t *testing.T, p unsafe.Pointer) {
		q := unsafe.Add(p, size/2)
		call(t, "munmap", unix.SYS_MUNMAP, uintptr(q), page)
		anonymous(t, q, page)
	}},
	{"a mapping over it", func(t *testing.T, p unsafe.Pointer) {
		call(t, "mmap", unix.SYS_MMAP, uintptr(p), size, 3, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0))
	}},
	{"mremap to elsewhere", func(t *testing.T, p unsafe.Pointer) {
		q := call(t, "mremap", unix.SYS_MREMAP, uintptr(p), size, 4*size, 1)
		if q == uintptr(p) { // it had room to grow where it is
			q = call(t, "mremap", unix.SYS_MREMAP, uintptr(p), size, size, 3, uintptr(anonymous(t, nil, size)))
		}
		anonymous(t, p, size)
		call(t, "munmap", unix.SYS_MUNMAP, q, size)
	}},
	{"mremap that leaves it mapped", func(t *testing.T, p unsafe.Pointer) {
		q := call(t, "mremap", unix.SYS_MREMAP, uintptr(p), size, size, 1|4)
		call(t, "munmap", unix.SYS_MUNMAP, q, size)
	}},
	{"mremap to there", func(t *testing.T, p unsafe.Pointer) {
		q := anonymous(t, nil, size)
		call(t, "mremap", unix.SYS_MREMAP, uintptr(q), size, size, 3, uintptr(p))
	}},
	{"mremap that shrinks", func(t *testing.T, p unsafe.Pointer) {
		call(t, "mremap", unix.SYS_MREMAP, uintptr(p), size, size/4, 0)
		anonymous(t, unsafe.Add(p, size/4), size-size/4)
	}},
	{"brk", func(t *testing.T, p unsafe.Pointer) {
		call(t, "brk", unix.SYS_BRK, uintptr(p)+page)
		call(t, "brk", unix.SYS_BRK, uintptr(p)+size)
	}},
	{"MADV_DONTNEED", func(t *testing.T, p unsafe.Pointer) {
		call(t, "madvise", unix.SYS_MADVISE, uintptr(p), size, unix.MADV_DONTNEED)
	}},
}

// TestOtherPages has a registration outlive its pages, and looks at the bytes that a NIC then
// moves, both ways. A cache that learns of no change moves the old ones, which shows that the test
// would notice.
func TestOtherPages(t *testing.T) {
	for _, c := range changes {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, watched %v", c.name, told), func(t *testing.T) {
				var w mrcache.Watch = deaf{}
				if told {
					w = openWatch(t)
				}
				nic := openNIC(t)
				cache := mrcache.New(nic, w, limits)
				p := anonymous(t, nil, size)
				if c.name == "brk" {
					end := call(t, "brk", unix.SYS_BRK, 0)
					p = mrcache.Pointer(uint64(end+page-1) &^ (page - 1))
					call(t, "brk", unix.SYS_BRK, uintptr(p)+size)
				}
				at := unsafe.Add(p, size/2-100)
				b := unsafe.Slice((*byte)(at), 200)
				moves := func(fill byte) (right bool) {
					copy(b, bytes.Repeat([]byte{fill}, len(b)))
					r, err := cache.Get(at, uint64(len(b)))
					if err != nil {
						t.Fatal(err)
					}
					got := make([]byte, len(b))
					if err := nic.Load(r.Desc, at, got); err != nil {
						t.Fatal(err)
					}
					right = bytes.Equal(got, b)
					came := bytes.Repeat([]byte{fill + 100}, len(b))
					if err := nic.Store(r.Desc, at, came); err != nil {
						t.Fatal(err)
					}
					if in := bytes.Equal(b, came); in != right {
						t.Errorf("out %v, in %v", right, in)
					}
					if err := cache.Put(r); err != nil {
						t.Fatal(err)
					}
					return right
				}
				for i := range 3 {
					if right := moves(byte(2 * i)); right != (told || i == 0) {
						t.Errorf("round %d: the right bytes: %v", i, right)
					}
					if right := moves(byte(2*i + 1)); right != (told || i == 0) {
						t.Errorf("round %d, again: the right bytes: %v", i, right)
					}
					c.do(t, p)
				}
				if n := cache.Counts(); told && (n.Misses != 3 || n.Hits != 3 || n.Stale != 2 || n.Single != 0) {
					t.Errorf("%+v", n)
				}
				if err := cache.Close(); err != nil || nic.Live() != 0 {
					t.Errorf("close: %v, %d registrations left", err, nic.Live())
				}
				if c.name != "brk" {
					call(t, "munmap", unix.SYS_MUNMAP, uintptr(p), size)
				}
			})
		}
	}
}

// TestFork holds that a child parts no registration from its pages, whichever process writes first.
func TestFork(t *testing.T) {
	nic, w := openNIC(t), openWatch(t)
	cache := mrcache.New(nic, w, limits)
	p := anonymous(t, nil, size)
	b := unsafe.Slice((*byte)(p), size)
	for i := range 4 {
		r, err := cache.Get(p, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Fatal(err)
		}
		child := forkAndSleep(t)
		for k := range b {
			b[k] = byte(i + k)
		}
		got := make([]byte, size)
		if err := nic.Load(r.Desc, p, got); err != nil || !bytes.Equal(got, b) {
			t.Errorf("fork %d: %v, other bytes left than were stored", i, err)
		}
		if err := cache.Put(r); err != nil {
			t.Error(err)
		}
		child()
	}
	// A child that holds the descriptor open: no thread reads it any more, and no thread may wait
	// for that.
	child := forkAndSleep(t)
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	call(t, "munmap", unix.SYS_MUNMAP, uintptr(p), size)
	child()
}

// forkAndSleep makes a child with a copy of all memory, which ends when the function
// is called. It runs no Go.
func forkAndSleep(t *testing.T) func() {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	pid := rawFork(fds[0])
	if pid < 0 {
		t.Fatal("fork")
	}
	return func() {
		_, _ = unix.Write(fds[1], []byte{0})
		var status unix.WaitStatus
		if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Exited() {
			t.Errorf("wait for the child: %v, %v", err, status)
		}
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
	}
}

//go:norace
//go:nosplit
func rawFork(wait int) int {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return -1
	}
	if pid == 0 {
		var b byte
		_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(wait), uintptr(unsafe.Pointer(&b)), 1)
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return int(pid)
}

// lacks reports whether no region was found in the cache, or none of memory that had changed. While
// the watch is behind what the program does, each region is registered for one use.
func lacks(n mrcache.Counts) bool { return n.Hits == 0 || n.Stale == 0 }

// TestThreads has one goroutine unmap memory and get other pages at the same place, round by round,
// while others register theirs; each looks at the bytes that a NIC would move.
func TestThreads(t *testing.T) {
	const threads, rounds = 4, 150
	var all sync.WaitGroup
	for i := range threads {
		w := openWatch(t)
		all.Go(func() {
			nic, err := pinned.Open()
			if err != nil {
				t.Errorf("io_uring: %v", err)
				return
			}
			cache := mrcache.New(nic, w, limits)
			rng := uint32(i + 1)
			var blocks [8]unsafe.Pointer
			for r := 0; r < rounds || lacks(cache.Counts()) && r < 20*rounds; r++ {
				if r >= rounds { // the processor has not come to the watch yet
					time.Sleep(time.Millisecond)
				}
				rng = rng*1664525 + 1013904223
				k := rng >> 29
				if blocks[k] != nil && rng>>20&3 == 0 {
					_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(blocks[k]), size, 0)
					blocks[k] = nil
				}
				if blocks[k] == nil {
					p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
					if err != nil {
						t.Error(err)
						return
					}
					blocks[k] = p
				}
				at := unsafe.Add(blocks[k], rng>>12&0x7fff)
				b := unsafe.Slice((*byte)(at), 5000)
				copy(b, bytes.Repeat([]byte{byte(r), byte(i)}, 2500))
				got := make([]byte, len(b))
				region, err := cache.Get(at, uint64(len(b)))
				if err == nil {
					err = errors.Join(nic.Load(region.Desc, at, got), cache.Put(region))
				}
				if err != nil || !bytes.Equal(got, b) {
					t.Errorf("thread %d, round %d: %v, %v instead of %v", i, r, err, got[:2], b[:2])
				}
			}
			if n := cache.Counts(); lacks(n) {
				t.Errorf("%+v", n)
			}
			if err := errors.Join(cache.Close(), nic.Close()); err != nil {
				t.Error(err)
			}
			for _, p := range blocks {
				if p != nil {
					_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(p), size, 0)
				}
			}
		})
	}
	all.Wait()
}
