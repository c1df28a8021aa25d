package gpu

import "unsafe"

// Address is an address as a GPU uses it.
type Address uint64

// Pointer returns the address as a pointer, which is outside Go's memory. The CPU must not follow
// it if the memory is a GPU's.
func (a Address) Pointer() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Chunk is the driver's handle, in this process, of GPU memory that has an address only
// where it is mapped.
type Chunk uint64

// Lendable says which GPU's memory a chunk is, and whether other processes can share it. The
// allocation of the chunk has decided both.
type Lendable struct {
	Device int  // number of the GPU whose memory the chunk is; -1: no GPU's
	Shared bool // the driver can make a descriptor of the chunk, for other processes
}

// Shared is a CUDA IPC handle, by which other processes open memory of a GPU.
type Shared [64]byte

// Atomic is an atomic operation for a stream to apply.
type Atomic struct {
	At               Address // of the word to operate on, aligned to Width
	Op, Width        int     // Op: a number of enum shmemi_amo; Width: 4 or 8 bytes
	Operand, Compare uint64
	Fetched          Address // the old value is stored here, 8 bytes
	// Claim is the address of a word of 8 bytes, if the same operation is queued at several
	// streams, of which only one may apply it: the stream that changes the word from Free to Free+1.
	// When it has applied it, it stores Free+2, for which the others wait. 0: only one stream gets it.
	Claim Address
	Free  uint64
}

// Facts are what a driver reports about a GPU, before anything is tried.
type Facts struct {
	Driver string // the driver's version of CUDA: "13.0"
	PCI    string // "0000:0f:00.0", as in /sys/bus/pci/devices
	UUID   string // "GPU-" and 36 characters: the same in every process

	Major, Minor int    // compute capability
	SMs          int    // multiprocessors
	Memory       uint64 // bytes

	MapHost      bool // main memory can be mapped into the GPU
	RegisterHost bool // main memory that the program has allocated can be mapped into the GPU, too
	Managed      bool // the driver has managed memory, which it moves
	Concurrent   bool // the CPU may touch managed memory while a kernel runs
	DMABuf       bool // the GPU's memory can be exported as a dma-buf
	DMABufMap    bool // the CPU can map a dma-buf of the GPU's memory

	Unified      bool // one address names the same memory for CPU and GPU
	HostPointers bool // the GPU sees registered main memory at the CPU's address
	HostAtomics  bool // the GPU's atomic operations on main memory are atomic with those of the CPU
	VMM          bool // memory and addresses can be allocated separately
	PosixFD      bool // memory that was allocated without an address can be shared by a descriptor
	RDMA         bool // NICs can reach the GPU's memory
	RDMAVMM      bool // NICs can also reach memory that was allocated without an address
	StreamOps    bool // streams can store words of 64 bits and wait for them
	StreamChange bool // streams can apply add, and, or to a word
	MPS          bool // contexts share the GPU by MPS, and none waits for its time slice

	FlushWrites    int // how a NIC's writes can be flushed, a sum: 1 by a call, 2 by a stream
	WritesOrdering int // which GPUs see a NIC's writes in order: 0 none, 100 this one, 200 all

	Lazy, Eager bool // kernels are loaded at their first launch, or with their module; neither: not known
}

// Device is one GPU as this package needs it. All sizes are in bytes. Every
// method may be called from any goroutine, and leaves the calling thread's current
// context as it was.
type Device interface {
	Name() string
	Facts() Facts

	// HostAlloc allocates main memory that the GPU has mapped.
	HostAlloc(n uint64) (unsafe.Pointer, Address, error)
	HostFree(unsafe.Pointer) error
	// HostRegister maps main memory of the program into the GPU.
	HostRegister(p unsafe.Pointer, n uint64) (Address, error)
	HostUnregister(unsafe.Pointer) error

	// ManagedAlloc allocates managed memory, and advises the driver to keep it in main memory and
	// mapped by the GPU. It has the same address for the CPU.
	ManagedAlloc(n uint64) (unsafe.Pointer, Address, error)
	// Alloc allocates memory of the GPU.
	Alloc(n uint64) (Address, error)
	// Free releases memory of ManagedAlloc or Alloc.
	Free(Address) error
	// Zero clears memory of the GPU and returns when that is done.
	Zero(a Address, n uint64) error

	// MapGDRCopy and MapDMABuf map memory of the GPU for the CPU. Both a and n
	// are multiples of Page.
	MapGDRCopy(a Address, n uint64) (*Mapping, error)
	MapDMABuf(a Address, n uint64) (*Mapping, error)
}

// Page is the unit of size and address in which memory of a GPU is mapped for the CPU.
const Page = 64 << 10

// Mapping is memory of a GPU that is mapped for the CPU.
type Mapping struct {
	Host      unsafe.Pointer
	Method    string // how the mapping was made, for messages: "GDRCopy 2.5"
	Combining bool   // the CPU's stores wait in write-combining buffers (Memory.Combining)
	Unmap     func() error
}
