package gpu

import "unsafe"

// Address is an address as a GPU uses it.
type Address uint64

// Pointer returns the address as a pointer, which is outside Go's memory. The CPU must not follow
// it if the memory is a GPU's.
func (a Address) Pointer() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Chunk is memory of a GPU without an address, as the driver of this process
// names it.
type Chunk uint64

// Lendable describes what a chunk may be used for, as its allocation has decided.
type Lendable struct {
	Device int  // number of the GPU that it is memory of; -1: of none
	Shared bool // a descriptor of it can be made
}

// Shared names memory of a GPU to other processes: CUDA's IPC handle.
type Shared [64]byte

// Atomic is an atomic operation that a stream is to do.
type Atomic struct {
	At               Address // a word, aligned
	Op, Width        int     // a number of enum shmemi_amo, 4 or 8 bytes
	Operand, Compare uint64
	Fetched          Address // the old value is stored here, 8 bytes
	// Claim is a word of 8 bytes that several streams are given with the same
	// operation: the first of them that finds it to be Free does it, and leaves Free+2.
	// 0: only one stream is given it.
	Claim Address
	Free  uint64
}

// Facts are a driver's facts about a device before anything is tried.
type Facts struct {
	Driver string // the version of CUDA that the driver is of: "13.0"
	PCI    string // "0000:0f:00.0", as in /sys/bus/pci/devices
	UUID   string // "GPU-" and 36 characters: the same in every process

	Major, Minor int    // compute capability
	SMs          int    // multiprocessors
	Memory       uint64 // bytes

	MapHost      bool // main memory can be mapped into the GPU
	RegisterHost bool // also memory that the program has already
	Managed      bool // memory that the driver places
	Concurrent   bool // which the CPU may touch while a kernel runs
	DMABuf       bool // its memory can be exported as a dma-buf
	DMABufMap    bool // and the dma-buf can be mapped by the CPU

	Unified      bool // one address names the same memory for CPU and GPU
	HostPointers bool // registered main memory has the address of the CPU
	HostAtomics  bool // its atomic operations on main memory are atomic with those of the CPU
	VMM          bool // memory and addresses can be allocated apart
	PosixFD      bool // and the memory be given to others as a descriptor
	RDMA         bool // NICs can reach its memory
	RDMAVMM      bool // also memory that came apart from its address
	StreamOps    bool // streams can store and wait for 64 bits
	StreamChange bool // and add to a word, and and or it

	FlushWrites    int // ways to flush a NIC's writes: 1 by a call, 2 by a stream
	WritesOrdering int // which devices see a NIC's writes in order: 0 none, 100 the GPU, 200 all GPUs

	Lazy, Eager bool // kernels are loaded when they are launched first, or with their module; neither: not known
}

// Device is one GPU as this package needs it. All sizes are in bytes. Every
// method may be called from any goroutine, and leaves alone which context is
// current in the calling thread.
type Device interface {
	Name() string
	Facts() Facts

	// HostAlloc allocates main memory that the GPU has mapped.
	HostAlloc(n uint64) (unsafe.Pointer, Address, error)
	HostFree(unsafe.Pointer) error
	// HostRegister maps main memory of the program into the GPU.
	HostRegister(p unsafe.Pointer, n uint64) (Address, error)
	HostUnregister(unsafe.Pointer) error

	// ManagedAlloc allocates memory that the driver places, advised to stay in main memory and to
	// be mapped by the GPU. It has the same address for the CPU.
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

// Page is the size and alignment in which memory of a GPU is mapped for others.
const Page = 64 << 10

// Mapping is memory of a GPU as the CPU sees it.
type Mapping struct {
	Host      unsafe.Pointer
	Method    string // how it was made, for print: "GDRCopy 2.5"
	Combining bool   // see Memory
	Unmap     func() error
}
