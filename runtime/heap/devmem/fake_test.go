package devmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

const granule = 2 << 20

// fake is a GPU made of memory of this process: a chunk is a file without a name, whose descriptor
// is real, so that other processes can map it, too. It keeps a record of its objects.
type fake struct {
	mu     sync.Mutex
	uuid   string
	facts  func(*gpu.Facts)
	memory uint64 // its memory in bytes
	used   uint64

	no, unknown map[string]bool // GPUs without a way, and with one to be tried
	refuse      map[string]bool // calls that always fail
	failAt      int             // the call, from 1, that fails
	calls       []string

	next   gpu.Chunk
	chunks map[gpu.Chunk]*fakeChunk
	ranges map[gpu.Address]uint64
	maps   map[gpu.Address]*fakeChunk
	blocks map[gpu.Address]*fakeChunk // Alloc
	opened map[gpu.Address]uint64
}

type fakeChunk struct {
	fd      int
	n       uint64
	mine    bool
	name    gpu.Chunk
	names   int // how often it was given out
	private bool
	device  int
}

func newFake(uuid string) *fake {
	return &fake{
		uuid: uuid, memory: 1 << 30,
		chunks: map[gpu.Chunk]*fakeChunk{}, ranges: map[gpu.Address]uint64{}, maps: map[gpu.Address]*fakeChunk{},
		blocks: map[gpu.Address]*fakeChunk{}, opened: map[gpu.Address]uint64{},
	}
}

var errFake = shmerr.Causef(shmerr.ErrSystem, "the test wants it")

// call counts a call and fails it where the test wants that.
func (f *fake) call(name string) error {
	f.calls = append(f.calls, name)
	if f.failAt == len(f.calls) || f.refuse[name] {
		return &shmerr.Error{Op: name, Object: f.Name(), Cause: errFake}
	}
	return nil
}

func (f *fake) Name() string { return "GPU " + f.uuid }

func (f *fake) Facts() gpu.Facts {
	facts := gpu.Facts{UUID: f.uuid, VMM: true, PosixFD: true, HostPointers: true, RegisterHost: true}
	if f.facts != nil {
		f.facts(&facts)
	}
	return facts
}

func (f *fake) Reaches(uuid string) (bool, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.no[uuid], !f.unknown[uuid], f.call("Reaches")
}

func (f *fake) Granularity() (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return granule, f.call("Granularity")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// mapFile maps a file at an address, or nowhere in particular.
func mapFile(fd int, n uint64, at gpu.Address, prot int) gpu.Address {
	flags := unix.MAP_SHARED
	if fd < 0 {
		flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	}
	if at != 0 {
		flags |= unix.MAP_FIXED
	}
	p := must(unix.MmapPtr(fd, 0, pointer(at), uintptr(n), prot, flags))
	return gpu.Address(uintptr(p))
}

func pointer(a gpu.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

func unmapFile(a gpu.Address, n uint64) {
	if err := unix.MunmapPtr(pointer(a), uintptr(n)); err != nil {
		panic(err)
	}
}

// bytesAt is memory of the GPU.
func bytesAt(a gpu.Address, n int) []byte { return unsafe.Slice((*byte)(pointer(a)), n) }

func (f *fake) Reserve(n, align uint64) (gpu.Address, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("Reserve"); err != nil {
		return 0, err
	}
	align = max(align, granule)
	room := mapFile(-1, n+align, 0, unix.PROT_NONE)
	at := gpu.Address(roundUp(uint64(room), align))
	if at > room {
		unmapFile(room, uint64(at-room))
	}
	if end := room + gpu.Address(n+align); end > at+gpu.Address(n) {
		unmapFile(at+gpu.Address(n), uint64(end-at)-n)
	}
	f.ranges[at] = n
	return at, nil
}

func (f *fake) Unreserve(a gpu.Address, n uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ranges[a] != n || n == 0 {
		return fmt.Errorf("unreserve %#x", uint64(a))
	}
	for at := range f.maps {
		if at >= a && at < a+gpu.Address(n) {
			return fmt.Errorf("unreserve %#x while %#x is mapped", uint64(a), uint64(at))
		}
	}
	unmapFile(a, n)
	delete(f.ranges, a)
	return f.call("Unreserve")
}

func memory(n uint64) int {
	fd := must(unix.MemfdCreate("fake-gpu", unix.MFD_CLOEXEC))
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		panic(err)
	}
	return fd
}

func (f *fake) take(n uint64) error {
	if f.used+n > f.memory {
		return &shmerr.Error{Op: "allocate", Object: fmt.Sprintf("%d bytes on %s", n, f.Name()), Cause: shmerr.Causef(shmerr.ErrNoMemory, "out of memory")}
	}
	f.used += n
	return nil
}

func (f *fake) CreateChunk(n uint64) (gpu.Chunk, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := errors.Join(f.call("CreateChunk")); err != nil {
		return 0, err
	}
	if err := f.take(n); err != nil {
		return 0, err
	}
	return f.named(&fakeChunk{fd: memory(n), n: n, mine: true}), nil
}

// named gives a chunk a name, or counts its name once more.
func (f *fake) named(k *fakeChunk) gpu.Chunk {
	if k.names == 0 {
		f.next++
		k.name = f.next
		f.chunks[k.name] = k
	}
	k.names++
	return k.name
}

func (f *fake) Number() int { return 0 }

func (f *fake) ChunkAt(a gpu.Address) (gpu.Chunk, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("ChunkAt"); err != nil {
		return 0, false, err
	}
	for at, k := range f.maps {
		if a >= at && uint64(a-at) < k.n {
			return f.named(k), true, nil
		}
	}
	return 0, false, nil
}

func (f *fake) Lendable(c gpu.Chunk) (gpu.Lendable, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.chunks[c]
	return gpu.Lendable{Device: k.device, Shared: !k.private}, f.call("Lendable")
}

func (f *fake) ReleaseChunk(c gpu.Chunk) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.chunks[c]
	if k == nil {
		return fmt.Errorf("release chunk %d", c)
	}
	if k.names--; k.names == 0 {
		delete(f.chunks, c)
		f.dropUnused(k)
	}
	return f.call("ReleaseChunk")
}

// dropUnused frees memory that is neither mapped nor named.
func (f *fake) dropUnused(k *fakeChunk) {
	if k.names == 0 && !slices.Contains(values(f.maps), k) {
		f.drop(k)
	}
}

func (f *fake) drop(k *fakeChunk) {
	if k.mine {
		f.used -= k.n
	}
	_ = unix.Close(k.fd)
}

func values[K comparable, V any](m map[K]V) []V {
	var all []V
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func (f *fake) ShareChunk(c gpu.Chunk) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("ShareChunk"); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(f.chunks[c].fd), unix.F_DUPFD_CLOEXEC, 0)
}

func (f *fake) TakeChunk(fd int) (gpu.Chunk, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("TakeChunk"); err != nil {
		return 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return f.named(&fakeChunk{fd: must(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)), n: uint64(st.Size)}), nil
}

func (f *fake) MapChunk(a gpu.Address, n uint64, c gpu.Chunk) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("MapChunk"); err != nil {
		return err
	}
	k := f.chunks[c]
	if k == nil || k.n != n || f.maps[a] != nil {
		return fmt.Errorf("map %d bytes at %#x", n, uint64(a))
	}
	for at, size := range f.ranges {
		if a >= at && uint64(a-at)+n <= size {
			mapFile(k.fd, n, a, unix.PROT_READ|unix.PROT_WRITE)
			f.maps[a] = k
			return nil
		}
	}
	return fmt.Errorf("map at %#x, which is not reserved", uint64(a))
}

func (f *fake) UnmapChunk(a gpu.Address, n uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.maps[a]
	if k == nil || k.n != n {
		return fmt.Errorf("unmap %d bytes at %#x", n, uint64(a))
	}
	mapFile(-1, n, a, unix.PROT_NONE)
	delete(f.maps, a)
	f.dropUnused(k)
	return f.call("UnmapChunk")
}

func (f *fake) Alloc(n uint64) (gpu.Address, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("Alloc"); err != nil {
		return 0, err
	}
	if err := f.take(n); err != nil {
		return 0, err
	}
	k := &fakeChunk{fd: memory(n), n: n, mine: true}
	room := mapFile(-1, n+2*granule, 0, unix.PROT_NONE)
	at := gpu.Address(roundUp(uint64(room), granule))
	if at%(2*granule) == 0 { // so that more alignment does not come by itself
		at += granule
	}
	mapFile(k.fd, n, at, unix.PROT_READ|unix.PROT_WRITE)
	if at > room {
		unmapFile(room, uint64(at-room))
	}
	if end := room + gpu.Address(n+2*granule); end > at+gpu.Address(n) {
		unmapFile(at+gpu.Address(n), uint64(end-at)-n)
	}
	f.blocks[at] = k
	return at, nil
}

func (f *fake) Free(a gpu.Address) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.blocks[a]
	if k == nil {
		return fmt.Errorf("free %#x", uint64(a))
	}
	unmapFile(a, k.n)
	f.drop(k)
	delete(f.blocks, a)
	return f.call("Free")
}

func (f *fake) Share(a gpu.Address) (gpu.Shared, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s gpu.Shared
	k := f.blocks[a]
	if k == nil {
		return s, fmt.Errorf("share %#x", uint64(a))
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(os.Getpid()))
	b = binary.LittleEndian.AppendUint64(b, uint64(k.fd))
	copy(s[:], binary.LittleEndian.AppendUint64(b, k.n))
	return s, f.call("Share")
}

func (f *fake) OpenShared(s gpu.Shared) (gpu.Address, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("OpenShared"); err != nil {
		return 0, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(s[8*i:]) }
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", word(0), word(1)), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	a := mapFile(fd, word(2), 0, unix.PROT_READ|unix.PROT_WRITE)
	f.opened[a] = word(2)
	return a, unix.Close(fd)
}

func (f *fake) CloseShared(a gpu.Address) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened[a] == 0 {
		return fmt.Errorf("close %#x", uint64(a))
	}
	unmapFile(a, f.opened[a])
	delete(f.opened, a)
	return f.call("CloseShared")
}

// leaks lists the objects that were not given back.
func (f *fake) leaks() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for what, n := range map[string]int{
		"chunks": len(f.chunks), "ranges": len(f.ranges), "mappings": len(f.maps), "blocks": len(f.blocks), "opened": len(f.opened), "bytes": int(f.used),
	} {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func checkLeaks(t *testing.T, devices ...*fake) {
	t.Helper()
	for _, f := range devices {
		if left := f.leaks(); left != "" {
			t.Errorf("%s keeps %s", f.Name(), left)
		}
	}
}
