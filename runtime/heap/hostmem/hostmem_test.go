package hostmem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/config"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// The test binary runs itself as a second PE: SHMEMTEST_ROLE says which part
// it plays.
func TestMain(m *testing.M) {
	if role := os.Getenv("SHMEMTEST_ROLE"); role != "" {
		if err := roles[role](os.Getenv("SHMEMTEST_NAME")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var roles = map[string]func(name string) error{
	"follow": follow,
	"limit":  func(string) error { return create(1 << 30) },
	"big":    func(string) error { return create(config.MaxHeap) },
	"full":   full,
}

func second(t *testing.T, role, name string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "SHMEMTEST_ROLE="+role, "SHMEMTEST_NAME="+name)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// In the tests PE 4 hands the memory out to PE 6.
const owner, me = 4, 6

var jobSecret secret.Secret

func source(name string) Source {
	return Source{Name: name, Owner: owner, Me: me, Secret: &jobSecret}
}

var testPlan = NewPlan(100<<10, 3<<20, 2)

func heapBytes(s *Segment, rank int) []byte {
	return unsafe.Slice((*byte)(s.Heap(rank)), s.plan.Heap)
}

// follow is the PE of rank 1: it copies into its own heap the words that it finds there.
func follow(name string) error {
	s, err := Receive(source(name), testPlan, time.Minute)
	if err != nil {
		return err
	}
	if err := s.Map(); err != nil {
		return err
	}
	if err := closesOnExec(s); err != nil {
		return err
	}
	if got := string(heapBytes(s, 1)[:5]); got != "hello" {
		return fmt.Errorf("rank 1 finds %q", got)
	}
	copy(heapBytes(s, 0), "world")
	copy(heapBytes(s, 1)[testPlan.Heap-3:], "end")
	*(*byte)(unsafe.Add(s.Heap(1), -int(testPlan.Internal))) = 42
	return s.Close()
}

// closesOnExec: a program that the PE starts must not keep the memory.
func closesOnExec(s *Segment) error {
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFD, 0)
	if err == nil && flags&unix.FD_CLOEXEC == 0 {
		err = errors.New("the memory file stays open in programs that the PE starts")
	}
	return err
}

func newSegment(t *testing.T, p Plan) *Segment {
	t.Helper()
	s, err := Create(p)
	if err == nil {
		err = s.Map()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newListener(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	guard(t, l)
	return l
}

func guard(t *testing.T, l *Listener) {
	l.Guard(&jobSecret, func(text string) { t.Log(text) })
}

func TestTwoProcessesShareBytes(t *testing.T) {
	l := newListener(t)
	s := newSegment(t, testPlan)
	if err := closesOnExec(s); err != nil {
		t.Error(err)
	}
	copy(heapBytes(s, 1), "hello")
	cmd, out := second(t, "follow", l.Name())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serveErr := l.Serve(s, []libshmem.PE{me}, time.Minute)
	if err := cmd.Wait(); err != nil || serveErr != nil {
		t.Fatalf("serve: %v; peer: %v: %s", serveErr, err, out)
	}
	h0, h1 := heapBytes(s, 0), heapBytes(s, 1)
	if string(h0[:5]) != "world" || string(h1[testPlan.Heap-3:]) != "end" {
		t.Errorf("the peer's bytes are not here: %q, %q", h0[:5], h1[testPlan.Heap-3:])
	}
	if got := *(*byte)(unsafe.Add(s.Heap(1), -int(testPlan.Internal))); got != 42 {
		t.Errorf("the internal area of rank 1 holds %d", got)
	}
}

func TestOtherUsersAreTurnedAway(t *testing.T) {
	l, err := listen(fdpass.User()+1, 2) // every caller is now another user
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	guard(t, l)
	s := newSegment(t, testPlan)
	done := make(chan error)
	go func() { done <- l.Serve(s, []libshmem.PE{me}, 3*time.Second) }() // the peer comes in time on a busy machine, too
	_, err = Receive(source(l.Name()), testPlan, time.Minute)
	if !errors.Is(err, shmerr.ErrPeerLost) || !strings.Contains(err.Error(), "runs as another user") {
		t.Errorf("the peer that is turned away: %v", err)
	}
	err = <-done
	want := fmt.Sprintf("hand out the symmetric heap of this node: PE 6 did not come within 3s, and one was turned away: process %[1]d of user %[2]d: process %[1]d runs as user %[2]d, this one as user %[3]d (find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT)",
		os.Getpid(), os.Geteuid(), os.Geteuid()+1)
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != want {
		t.Errorf("the server: %v\nwant %s", err, want)
	}

	_, err = receive(source(l.Name()), testPlan, time.Minute, uint32(os.Geteuid()+1))
	if err == nil || !strings.HasPrefix(err.Error(), "trust PE 4 at @"+l.Name()) || !strings.HasSuffix(err.Error(), "(start all PEs as one user)") {
		t.Errorf("a server of another user: %v", err)
	}
}

func TestServerThatNeverServes(t *testing.T) {
	l := newListener(t)
	start := time.Now()
	_, err := Receive(source(l.Name()), testPlan, 200*time.Millisecond)
	const want = "receive the symmetric heap from PE 4: nothing came within 200ms (find out why it is late, or raise SHMEM_BOOTSTRAP_TIMEOUT)"
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if d := time.Since(start); d < 200*time.Millisecond || d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

func TestServerThatIsGone(t *testing.T) {
	l, err := Listen(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Receive(source(l.Name()), testPlan, time.Minute)
	want := "connect to PE 4 at @" + l.Name() + " for the symmetric heap: connection refused (find out why it ended; PEs in different network namespaces need different SHMEM_HOST_ID)"
	if !errors.Is(err, shmerr.ErrPeerLost) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestPeersThatNeverCome(t *testing.T) {
	l := newListener(t)
	s := newSegment(t, testPlan)
	if err := l.Serve(s, nil, time.Second); err != nil {
		t.Errorf("a node of one PE: %v", err)
	}
	err := l.Serve(s, []libshmem.PE{5, 6, 7, 9}, 50*time.Millisecond)
	const want = "hand out the symmetric heap of this node: PEs 5-7, 9 did not come within 50ms (find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT)"
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}

	// A PE that has come is not named, and a process that is stopped before it says which PE it is
	// is named by its number.
	received := make(chan error)
	go func() {
		s, err := Receive(source(l.Name()), testPlan, time.Minute)
		if err == nil {
			err = s.Close()
		}
		received <- err
	}()
	if err := l.Serve(s, []libshmem.PE{me}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := <-received; err != nil {
		t.Fatal(err)
	}
	stopped, err := fdpass.Dial(l.Name(), fdpass.User(), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	err = l.Serve(s, []libshmem.PE{5, 7}, 50*time.Millisecond)
	said := fmt.Sprintf("hand out the symmetric heap of this node: PEs 5, 7 did not come within 50ms, process %d of user %d came and said nothing (find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT)",
		os.Getpid(), os.Geteuid())
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != said {
		t.Errorf("got %v\nwant %s", err, said)
	}
}

func TestPlansThatDiffer(t *testing.T) {
	l := newListener(t)
	s := newSegment(t, testPlan)
	done := make(chan error)
	go func() { done <- l.Serve(s, []libshmem.PE{me}, time.Minute) }()
	_, err := Receive(source(l.Name()), NewPlan(100<<10, 1<<30, 2), time.Minute)
	want := "receive the symmetric heap from PE 4: it has 12.0 MiB (12.0 MiB announced), but this PE expects 2.2 GiB (set SHMEM_SYMMETRIC_SIZE to the same value on all PEs)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestForeignMessagesAreRefused(t *testing.T) {
	open, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	unsealed, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(unsealed)
	if err := unix.Ftruncate(unsealed, int64(testPlan.Total())); err != nil {
		t.Fatal(err)
	}
	message := func(magic uint64) []byte {
		m := binary.LittleEndian.AppendUint64(nil, magic)
		return binary.LittleEndian.AppendUint64(m, testPlan.Total())
	}
	null := int(open.Fd())
	for name, tt := range map[string]struct {
		message []byte
		files   []int
		kind    error
	}{
		"another version": {message(1), []int{null}, shmerr.ErrVersion},
		"short":           {message(passMagic)[:8], []int{null}, shmerr.ErrVersion},
		"long":            {append(message(passMagic), 1), []int{null}, shmerr.ErrVersion},
		"no descriptor":   {message(passMagic), nil, shmerr.ErrVersion},
		"two descriptors": {message(passMagic), []int{null, null}, shmerr.ErrVersion},
		"not the file":    {message(passMagic), []int{null}, shmerr.ErrSetting},
		"size not sealed": {message(passMagic), []int{unsealed}, shmerr.ErrVersion},
		"ended at once":   {nil, nil, shmerr.ErrPeerLost},
	} {
		t.Run(name, func(t *testing.T) {
			before := countFiles(t)
			l := newListener(t)
			done := make(chan error)
			go func() {
				deadline := time.Now().Add(time.Minute)
				c, err := l.Accept(deadline)
				if err == nil {
					if tt.message != nil {
						err = c.Send(tt.message, tt.files, deadline)
					}
					err = errors.Join(err, c.Close())
				}
				done <- err
			}()
			_, err := Receive(source(l.Name()), testPlan, time.Minute)
			if !errors.Is(err, tt.kind) {
				t.Errorf("got %v", err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := countFiles(t) - before; n != 1 { // the listener
				t.Errorf("%d descriptors stay open", n-1)
			}
		})
	}
}

func countFiles(t *testing.T) int {
	t.Helper()
	time.Sleep(time.Nanosecond) // the files of the Go runtime itself come with the first timer
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		internal, heap uint64
		align          uint64
		offset, slice  uint64
	}{
		{1, 1, 2 << 20, 2 << 20, 4 << 20},
		{3 << 20, 16 << 20, 2 << 20, 4 << 20, 20 << 20},
		{100 << 10, 1 << 30, 128 << 20, 128 << 20, 1<<30 + 128<<20},
		{100 << 10, config.MaxHeap, 1 << 30, 1 << 30, config.MaxHeap + 1<<30},
	} {
		p := NewPlan(tt.internal, tt.heap, 3)
		if p.Align != tt.align || p.HeapOffset() != tt.offset || p.PartSize() != tt.slice || p.Total() != 3*tt.slice {
			t.Errorf("%d, %d: %+v, heap at %d, slice %d", tt.internal, tt.heap, p, p.HeapOffset(), p.PartSize())
		}
	}
	s := newSegment(t, NewPlan(1, 256<<20, 3))
	for rank := range 3 {
		if uintptr(s.Heap(rank))%uintptr(s.plan.Align) != 0 {
			t.Errorf("heap %d begins at %p, not a multiple of %d", rank, s.Heap(rank), s.plan.Align)
		}
	}
	if s.Heap(1) != unsafe.Add(s.Base(), s.plan.PartSize()+s.plan.HeapOffset()) {
		t.Error("heap 1 is not in slice 1")
	}
}

func create(user uint64) error {
	s, err := Create(NewPlan(1<<20, user, 2))
	if err != nil {
		return err
	}
	if err := s.Map(); err != nil {
		return err
	}
	return s.Close()
}

// The three packages that bound the size must not contradict each other.
func TestLargestHeapIsOneNumber(t *testing.T) {
	if config.MaxHeap != heap.MaxSize {
		t.Errorf("the setting goes to %d, the allocator to %d", uint64(config.MaxHeap), uint64(heap.MaxSize))
	}
}

func TestImpossibleSizes(t *testing.T) {
	for _, tt := range []struct {
		plan Plan
		kind error
		want string
	}{
		{NewPlan(1, config.MaxHeap, 8), shmerr.ErrNoMemory, "reserve SHMEM_SYMMETRIC_SIZE of 16.0 TiB for 8 PEs of this node: they need 128.0 TiB of address space and a process has 128.0 TiB (lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node)"},
		{NewPlan(1, config.MaxHeap+1, 1), shmerr.ErrSetting, "reserve SHMEM_SYMMETRIC_SIZE of 16.0 TiB for 1 PEs of this node: the size is not between 1 byte and 16.0 TiB (lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node)"},
		{NewPlan(1, 0, 1), shmerr.ErrSetting, "reserve SHMEM_SYMMETRIC_SIZE of 0 bytes for 1 PEs of this node: the size is not between 1 byte and 16.0 TiB (lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node)"},
	} {
		if _, err := Create(tt.plan); err == nil || err.Error() != tt.want || !errors.Is(err, tt.kind) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
	}
}

// full is a process that may open no file any more, before it makes a memory file or after.
func full(when string) error {
	var s *Segment
	var err error
	if when == "after" {
		if s, err = Create(testPlan); err == nil {
			err = s.Map()
		}
	}
	for err == nil {
		_, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if !errors.Is(err, unix.EMFILE) {
		return err
	}
	if when == "after" {
		return s.Commit(testPlan.Heap)
	}
	_, err = Create(testPlan)
	return err
}

func TestNoDescriptorsLeft(t *testing.T) {
	for when, want := range map[string]string{
		"before": "memfd_create: too many open files (close files, or raise the limit with ulimit -Hn)",
		"after":  "open /proc/meminfo: too many open files (close files, or raise the limit with ulimit -Hn)",
	} {
		cmd, out := second(t, "full", when)
		cmd.Args = []string{"bash", "-c", `ulimit -n 64 && exec "$0"`, cmd.Path}
		cmd.Path = "/bin/bash"
		if err := cmd.Run(); err == nil || !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", when, err, out, want)
		}
	}
}

// The limits are set in a second process, since they cannot be raised again.
func TestLimitsOfTheProcess(t *testing.T) {
	for _, tt := range []struct{ limit, role, want string }{
		{"-f 1048576", "limit", "reserve SHMEM_SYMMETRIC_SIZE of 1.0 GiB for 2 PEs of this node: they need a memory file of 2.2 GiB and RLIMIT_FSIZE is 1.0 GiB (raise the limit with ulimit -f, or lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node)"},
		{"-v 1073741824", "big", "reserve SHMEM_SYMMETRIC_SIZE of 16.0 TiB for 2 PEs of this node: they need 32.0 TiB of address space and RLIMIT_AS is 1.0 TiB (raise the limit with ulimit -v, or lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node)"},
		{"-c 0", "limit", ""},
	} {
		cmd, out := second(t, tt.role, "")
		cmd.Args = []string{"bash", "-c", `ulimit ` + tt.limit + ` && exec "$0"`, cmd.Path}
		cmd.Path = "/bin/bash"
		err := cmd.Run()
		if (err != nil) != (tt.want != "") || strings.TrimSpace(out.String()) != tt.want {
			t.Errorf("ulimit %s: %v\ngot  %s\nwant %s", tt.limit, err, out, tt.want)
		}
	}
}

func TestCloseGivesEverythingBack(t *testing.T) {
	files, maps := countFiles(t), countMappings(t)
	s, err := Create(testPlan)
	if err == nil {
		err = s.Map()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := countMappings(t); n <= maps {
		t.Errorf("%d mappings of memory files, %d before", n, maps)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if countFiles(t) != files || countMappings(t) != maps {
		t.Error("the file or its mapping stays")
	}
}

func countMappings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "memfd:shmem")
}
