// Package fabric is the seam between the runtime and a network.
//
// It holds the Provider interface and the plain structs that cross it. It
// moves bytes between endpoints that the address vector knows by PE number and
// knows nothing of the symmetric heap, of teams or of OpenSHMEM's ordering:
// the proxy builds those from the guarantees that Caps reports.
//
// A Provider is not safe for concurrent use. Its caller serialises every
// method but Wait and Wake; the proxy does so with one lock per endpoint
// (runtime/proxy).
package fabric

import (
	"errors"
	"time"
	"unsafe"
)

// ErrAgain says that the provider has no room for the operation now. The
// operation was not posted; the caller polls and tries again.
var ErrAgain = errors.New("fabric: try again")

// PE is the number of a processing element, and the index of its address in
// the address vector.
type PE int32

// Token names one operation of the caller. It comes back in the Completion.
// Tokens of operations in flight are distinct and below Config.Tokens.
type Token uint32

// Kind tells what a Completion completes.
type Kind uint8

// The kinds of completion.
const (
	KindSend  Kind = iota + 1 // the source buffer may be reused
	KindRecv                  // Len bytes arrived in the buffer that the token names
	KindWrite                 // the bytes of a Write are at the target where Caps.DeliveryComplete holds, else the source buffer may be reused
	KindRead                  // the bytes of a Read are in local memory
)

// Completion is one entry of the completion queue. Providers fill an array of
// them in C memory, so the layout is fixed: fabric/ofi asserts it.
type Completion struct {
	Token Token
	Kind  Kind
	_     [3]byte
	Len   uint64
	Err   int32 // 0, or a libfabric error number; ErrorText explains the last one
	_     int32
}

// Caps is what a provider promises once it is open.
type Caps struct {
	Provider         string // libfabric's provider string, for example "tcp;ofi_rxm"
	Domain           string // the NIC as the provider names it
	Fabric           string
	MaxMessage       uint64 // bytes in one Write or Read
	MaxInject        int    // bytes of a Send or Write that may be injected
	WriteAfterWrite  bool   // Writes to one PE become visible in the order of posting
	SendAfterWrite   bool   // a message arrives after the bytes of earlier Writes to the same PE are visible there
	SendAfterSend    bool   // messages to one PE arrive in the order of posting
	ReadAfterWrite   bool   // a Read sees the bytes of earlier Writes to the same PE
	DeliveryComplete bool   // Write completions mean that the bytes are visible at the target
	VirtualAddress   bool   // remote addresses are virtual addresses, not offsets into the region
	LocalMR          bool   // local buffers of operations must be registered too, and Desc is needed
	PinsMemory       bool   // Register needs committed memory and pins it
	GPU              bool   // RegisterGPU may be called
	DMABuf           bool   // it takes dma-bufs, too
	WaitFD           bool   // Wait sleeps in the kernel until there is work; else it sleeps for at most its poll interval
}

// Region is registered local memory.
type Region struct {
	Base unsafe.Pointer
	Len  uint64
	Key  uint64  // peers name the region by this key
	Desc uintptr // local descriptor, an opaque word for operations on the region; may be 0
	ID   int
}

// GPUMemory is memory of one GPU that a NIC is to reach without the CPU.
type GPUMemory struct {
	Base   unsafe.Pointer // as the GPU addresses it
	Len    uint64
	Device int    // number of the GPU, as its driver counts
	File   int    // a dma-buf that the memory is in; negative: the provider asks the GPU's driver for it (peer memory)
	Offset uint64 // of the memory in the dma-buf
}

// Send is a two-sided message to a PE.
type Send struct {
	To     PE
	Buf    unsafe.Pointer
	Len    int
	Desc   uintptr
	Token  Token
	Inject bool // Len is at most Caps.MaxInject: Buf may be reused at once and no completion follows
}

// RMA is a one-sided Write or Read.
type RMA struct {
	PE     PE
	Local  unsafe.Pointer
	Len    uint64
	Desc   uintptr
	Remote uint64 // virtual address or offset into the region, as Caps.VirtualAddress says
	Key    uint64
	Token  Token
	Inject bool // Write only: as Send.Inject
}

// Config is what a provider needs to open.
type Config struct {
	Provider string // provider string to insist on; "" takes the best that answers
	NICs     string // names of domains or interfaces to take, comma separated; "" takes any
	Library  string // file of libfabric to load; "" searches
	Tokens   int    // exclusive upper bound of Token
	MaxRecv  int    // receive buffers that will be posted at once
	GPU      bool   // GPU memory may be registered. A provider without it opens all the same, see Caps.GPU
}

// Native is the table of C functions behind a Provider, for callers that wait
// in C and must not cross into Go to find the completion queue empty
// (a crossing costs 46 ns, an empty poll less). Each pointer is a C function
// whose first argument is Self; fabric/ofi/native.h declares them.
type Native struct {
	Self unsafe.Pointer
	Poll unsafe.Pointer // int poll(void *self, struct shmemi_completion *c, int max)
	Arm  unsafe.Pointer // int arm(void *self)
	Wait unsafe.Pointer // int wait(void *self, int64_t ns)
	Wake unsafe.Pointer // void wake(void *self)
	// Recv and Inject are Provider.Recv and an injected Provider.Send; they
	// answer 0, or a negative error of libfabric when nothing was posted.
	Recv   unsafe.Pointer // int recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
	Inject unsafe.Pointer // int inject(void *self, uint32_t pe, const void *buf, size_t n)
}

// Provider is one endpoint on one network.
type Provider interface {
	// Caps reports what was granted.
	Caps() Caps
	// Addr is the endpoint's own address, to be handed to every peer.
	Addr() []byte
	// Connect fills the address vector: addrs[i] is the address of PE i.
	// A nil entry leaves that PE unreachable.
	Connect(addrs [][]byte) error
	// Register makes n bytes at base usable as source, as target and by peers.
	Register(base unsafe.Pointer, n uint64) (Region, error)
	// RegisterGPU is Register for GPU memory. The descriptor of a dma-buf may be
	// closed afterwards.
	RegisterGPU(GPUMemory) (Region, error)
	// Unregister undoes Register and RegisterGPU.
	Unregister(Region) error
	// Recv posts a receive buffer. Its completion has KindRecv.
	Recv(buf unsafe.Pointer, n int, desc uintptr, t Token) error
	// Send posts a message. ErrAgain: not posted.
	Send(*Send) error
	// Write posts a one-sided write. ErrAgain: not posted.
	Write(*RMA) error
	// Read posts a one-sided read. ErrAgain: not posted.
	Read(*RMA) error
	// Poll makes progress and fills c with up to len(c) completions.
	Poll(c []Completion) (int, error)
	// Arm asks leave to Wait: false says that Poll has work now.
	Arm() bool
	// Wait sleeps until Poll may have work, Wake is called or d has passed.
	// It follows an Arm that returned true and is called without the caller's
	// lock, so that others may post and poll meanwhile. It reports whether
	// something came; a provider that cannot tell reports false.
	Wait(d time.Duration) (bool, error)
	// Wake ends a Wait, from any thread.
	Wake()
	// Native returns the C functions behind Poll, Arm, Wait and Wake, or the
	// zero Native where the provider is Go only.
	Native() Native
	// ErrorText explains the error of c, the provider's own words included.
	ErrorText(c *Completion) string
	// Close releases everything. Operations in flight are dropped.
	Close() error
}
