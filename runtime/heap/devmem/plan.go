package devmem

import (
	"fmt"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Path is how the memory of a heap is allocated and shared.
type Path uint8

// The paths.
const (
	Auto Path = iota // VMM, and IPC where that does not work
	VMM              // addresses and memory are allocated separately, in chunks, which are shared by descriptors
	IPC              // one allocation, by CUDA's IPC
)

var pathNames = [...]string{Auto: "auto", VMM: "vmm", IPC: "ipc"}

// String returns the path's word in SHMEM_GPU_SHARE.
func (w Path) String() string { return pathNames[w] }

// ParsePath returns the Path, the method by which PEs share GPU memory, that has this name in
// SHMEM_GPU_SHARE.
func ParsePath(s string) (Path, error) {
	for w, name := range pathNames {
		if s == name {
			return Path(w), nil
		}
	}
	return Auto, &shmerr.Error{
		Op: "choose", Object: fmt.Sprintf("the path %q to GPU memory", s), Cause: shmerr.Causef(shmerr.ErrSetting, "there is no such path"),
		Remedy: "use auto, vmm or ipc",
	}
}

// Plan describes the heaps of a node. It is the same on all PEs except for Me.
type Plan struct {
	Size  uint64 // bytes of the user heap of each PE
	Align uint64 // each user heap begins at a multiple of Align, a power of two
	PEs   []Peer // the PEs of the node whose heap is in GPU memory
	Me    int    // index in PEs
	Share Path
	// Secret is the job's secret for guarded listeners; nil: they are not guarded.
	Secret  *secret.Secret
	Timeout time.Duration // of each step that waits for other PEs
}

// Peer is a PE and where it listens.
type Peer struct {
	PE     libshmem.PE
	Socket string
}

// Step is the least by which heaps grow. A growth costs rounds of messages between the PEs and a
// mapping for each of them; memory that is committed and not used is lost to the GPU's other users.
// If the GPU or the heap has less than a step left, a heap grows by the requested size.
const Step = 32 << 20

// Device is a GPU as this package needs it; *cuda.Device is one. Sizes are in bytes, and its errors
// name the device.
type Device interface {
	Name() string
	Number() int
	Facts() gpu.Facts
	// Reaches reports whether loads and stores of this GPU reach memory of the GPU with that UUID;
	// known is false if only a trial shows.
	Reaches(uuid string) (yes, known bool, err error)

	Granularity() (uint64, error)
	Reserve(n, align uint64) (gpu.Address, error)
	Unreserve(a gpu.Address, n uint64) error
	CreateChunk(n uint64) (gpu.Chunk, error)
	ReleaseChunk(gpu.Chunk) error
	ShareChunk(gpu.Chunk) (fd int, err error)
	ImportChunk(fd int) (gpu.Chunk, error)
	MapChunk(a gpu.Address, n uint64, c gpu.Chunk) error
	UnmapChunk(a gpu.Address, n uint64) error
	ChunkAt(a gpu.Address) (c gpu.Chunk, ok bool, err error)
	Lendable(gpu.Chunk) (gpu.Lendable, error)

	Alloc(n uint64) (gpu.Address, error)
	Free(gpu.Address) error
	Share(gpu.Address) (gpu.Shared, error)
	OpenShared(gpu.Shared) (gpu.Address, error)
	CloseShared(gpu.Address) error
}

// check returns an error for an invalid plan, which would be a mistake of the library.
func (p Plan) check() error {
	if p.Size == 0 || p.Align == 0 || p.Align&(p.Align-1) != 0 || p.Me < 0 || p.Me >= len(p.PEs) || p.Share > IPC {
		return p.refuse(shmerr.Causef(shmerr.ErrInternal, "size %d, alignment %d, PE %d of %d, way %d", p.Size, p.Align, p.Me, len(p.PEs), p.Share), "")
	}
	return nil
}

// refuse returns the error of heaps that cannot be reserved.
func (p Plan) refuse(cause error, remedy string) error {
	return &shmerr.Error{Op: "reserve", Object: p.String(), Cause: cause, Remedy: remedy}
}

// String names the setting that the plan comes from.
func (p Plan) String() string {
	return fmt.Sprintf("SHMEM_SYMMETRIC_SIZE of %s in GPU memory", amount(p.Size))
}

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// amount returns a number of bytes as text: "4.0 MiB".
func amount(n uint64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, [...]string{"", "KiB", "MiB", "GiB", "TiB"}[unit])
}
