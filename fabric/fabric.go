// Package fabric is the interface between the runtime and a network.
//
// It holds the Provider interface and the plain structs that cross it. It moves bytes between
// endpoints that the address vector knows by PE number and knows nothing of the symmetric heap, of
// teams or of OpenSHMEM's ordering: the proxy builds those from the guarantees that Caps reports.
//
// A Provider is not safe for concurrent use. Its caller serialises every method but Wait and Wake;
// the proxy does so with one lock per endpoint (runtime/proxy).
package fabric

import (
	"errors"
	"slices"
	"time"
	"unsafe"

	"libshmem"
)

// ErrAgain means that a queue of the provider is full now. The operation was not posted; the caller
// polls and tries again.
var ErrAgain = errors.New("fabric: try again")

// ErrOverrun is the error of a Poll that lost completions, because more arrived than the queue
// holds. The endpoint is then unusable.
var ErrOverrun = errors.New("completion queue overrun")

// Token names one operation of the caller. The operation's Completion, of which there is one, has
// the token. Tokens of operations in flight are distinct and below Config.Tokens.
type Token uint32

// NoToken is the Token of a Completion that no operation of this endpoint caused.
const NoToken = ^Token(0)

// From returns the PE that a completion of KindData or KindTrouble is about: the PE that wrote,
// where Caps.Source holds, or the PE that the provider has given up. It is NoPE where the provider
// does not know the PE. Few providers know the length of such a Write, so Len holds the PE.
func (c *Completion) From() libshmem.PE { return libshmem.PE(uint32(c.Len)) }

// SetFrom sets the PE that From returns. It is stored in Len, which a completion of KindData does
// not use.
func (c *Completion) SetFrom(pe libshmem.PE) { c.Len = uint64(uint32(pe)) }

// Caps lists what an open provider promises.
type Caps struct {
	Provider         string // libfabric's provider string, for example "tcp;ofi_rxm"
	Domain           string // the NIC as the provider names it
	Fabric           string // libfabric's name of the network that the domain is on
	MaxMessage       uint64 // bytes in one Write or Read
	MaxInject        int    // bytes of a Send that may be injected
	MaxInjectWrite   int    // bytes of a Write that may be injected; 0: none
	InjectBlind      bool   // an injected operation that fails has no completion: Poll fails, and names no peer
	InjectSilent     bool   // an injected message that fails has no completion and no error; with it every other operation on the peer fails, until the provider has connected again
	WriteAfterWrite  bool   // Writes to one PE become visible in the order of posting
	SendAfterWrite   bool   // a message arrives after the bytes of earlier Writes to the same PE are visible there
	SendAfterSend    bool   // messages to one PE arrive in the order of posting
	ReadAfterWrite   bool   // a Read sees the bytes of earlier Writes to the same PE
	DeliveryComplete bool   // Write completions mean that the bytes are visible at the target
	SendComplete     bool   // Send completions mean that the message is at the target, so that one that has failed may be sent again
	Repeats          bool   // a message or a completion of KindData may arrive twice: its sender lost a NIC, and could not know that the first had arrived
	VirtualAddress   bool   // remote addresses are virtual addresses, not offsets into the region
	LocalMR          bool   // local buffers of operations must be registered too, and Desc is needed
	PinsMemory       bool   // Register needs committed memory and pins it
	GPU              bool   // RegisterGPU may be called
	DMABuf           bool   // RegisterGPU also takes dma-bufs
	Data             int    // bytes of a Write's immediate data; RMA.Notify may be set where they are 4 or more
	DataTakesRecv    bool   // a Write with data uses up a receive buffer of the target, and waits for one; its completion names the buffer
	Source           bool   // completions of KindData name the PE
	RNRRetries       bool   // a message that finds no receive buffer is sent again after a while (receiver not ready); there may be more buffers, see Config.MoreRecv
	Arrivals         int    // entries of the completion queue besides one for each token: for completions of KindData, at most Config.Arrivals, and where RNRRetries holds for the Config.MoreRecv further receive buffers
	Fence            bool   // operations may set Fence
	Atomics          Ops    // operations that Atomic of interface Atomics does; empty: the Provider is not an Atomics
	AtomicsWithCPU   bool   // the Atomics are also atomic with the CPU's instructions at the target
	Block            int    // the bytes of each aligned block of this size of a Write become visible by ascending address, if the Write begins where a block does; 0: in any order
	LocalSegments    int    // pieces of local memory that one Write of the network may gather
	RemoteSegments   int    // pieces of remote memory that one Write may scatter to
	SendQueue        int    // operations of this endpoint that may be under way at a time; 0: not known
	RecvQueue        int    // receive buffers that may be posted at a time; 0: not known
	Speed            uint64 // bits a second; 0: not known
	Rails            int    // NICs that operations are spread over, without order between them; 0: one
	Stripe           uint64 // Writes and Reads of more bytes are cut and spread over the NICs, but for those with Notify, which go by one: a caller that numbers its Writes cuts them here
	WaitFD           bool   // Wait sleeps in the kernel until there is work; else it sleeps for at most its poll interval
}

// Region is registered local memory.
type Region struct {
	Base unsafe.Pointer
	Len  uint64
	Key  uint64  // peers name the region by this key
	Desc uintptr // local descriptor, an opaque word for operations on the region; may be 0
	ID   int     // the provider's number of the region, for Unregister; a later region may have it again
}

// GPUMemory is memory of one GPU that a NIC is to reach without the CPU.
type GPUMemory struct {
	Base   unsafe.Pointer // as the GPU addresses it
	Len    uint64
	Device int    // number of the GPU, as its driver counts
	File   int    // a dma-buf that the memory is in; negative: the kernel finds the memory through the driver of the GPU (peer memory)
	Offset uint64 // of the memory in the dma-buf
	Live   bool   // the program uses it already: RegisterGPU's test must only read it, and must not even write a word back that it has just read
}

// Send is a two-sided message to a PE.
type Send struct {
	To     libshmem.PE
	Buf    unsafe.Pointer
	Len    int
	Desc   uintptr
	Token  Token
	Inject bool // Len is at most Caps.MaxInject: Buf may be reused at once and no completion follows
	Fence  bool // begins when all earlier operations on the PE are complete there; not with Inject
}

// RMA is a one-sided Write or Read.
type RMA struct {
	PE     libshmem.PE
	Local  unsafe.Pointer
	Len    uint64
	Desc   uintptr
	Remote uint64 // virtual address or offset into the region, as Caps.VirtualAddress says
	Key    uint64
	Token  Token
	Inject bool // Write only: as Send.Inject, up to Caps.MaxInjectWrite bytes
	Fence  bool // as Send.Fence

	// Write only: the target gets a completion of KindData, with Data, once the bytes are there and
	// not before. The completion confirms this Write, and earlier Writes if Caps.WriteAfterWrite
	// promises their order. The target does not learn of an error.
	Notify bool
	Data   uint32
}

// AMO is an atomic operation on a word of a peer's memory.
type AMO struct {
	PE      libshmem.PE
	Op      Op
	Width   int // bytes of the word: 4 or 8
	Operand uint64
	Compare uint64         // of OpCompareSwap
	Result  unsafe.Pointer // of operations that fetch: where the old value goes
	Desc    uintptr        // of the memory of Result
	Remote  uint64         // as RMA.Remote
	Key     uint64
	Token   Token
	Fence   bool // as Send.Fence
}

// Fetches reports whether op returns the old value of the word: OpSwap and all Ops with higher
// numbers do.
func (op Op) Fetches() bool { return op >= OpSwap }

// Ops is a set of atomic operations, each for words of 4 or 8 bytes: bit op for 4 bytes, and bit
// op+16 for 8. Each Op is below 16.
type Ops uint32

// With returns the set with one more operation, on words of width bytes: 4 or 8.
func (s Ops) With(op Op, width int) Ops { return s | 1<<(uint(op)+uint(width/8)*16) }

// Has reports whether an operation is in the set.
func (s Ops) Has(op Op, width int) bool {
	return op >= OpSet && op <= OpFetchXor && (width == 4 || width == 8) && s&Ops(0).With(op, width) != 0
}

// Config is the configuration of a provider.
type Config struct {
	Provider string // provider string to insist on; "" takes the best that works here
	Fabric   string // of the provider efa, efa or efa-direct; "" takes the one that fits libfabric's version
	NICs     string // names of domains or interfaces to take, comma separated; "" takes any
	Library  string // file of libfabric to load; "" searches
	Tokens   int    // exclusive upper bound of Token
	MaxRecv  int    // receive buffers that will be posted at once
	MoreRecv int    // further receive buffers, posted where Caps.RNRRetries holds, with the tokens from Tokens on; Caps.Arrivals has their entries of the completion queue
	GPU      bool   // GPU memory may be registered. A provider without it opens all the same, see Caps.GPU
	Queue    int    // completions that the queue must hold; 0: one for each token

	// Some providers do these only on request, because they slow down other operations. Caps
	// reports the result.
	Delivery bool // Writes complete at the target even where order alone would show that they have arrived; Sends do, too, where the NIC reports it (Caps.SendComplete)
	Data     bool // Write with immediate data
	Fence    bool
	Atomics  bool
	Blocks   bool // the bytes of each aligned block of a Write by ascending address, and once (Caps.Block)

	Key [32]byte // secret of the PEs of the job, for providers whose connections prove that both endpoints have it

	// Late is for endpoints whose peers join one after another (Joiner), for providers with
	// connections: how long a peer may refuse the first connection, because it does not know this
	// endpoint yet. After that time the peer is lost. A peer is also lost when its connection ends
	// and cannot be made again, even if no operation needs the connection.
	Late time.Duration

	IfUnordered bool // Data and Fence are wanted only where messages may overtake Writes: without Caps.SendAfterWrite
	Arrivals    int  // where Data is granted, completions of KindData that the queue is to hold besides one for each token; Caps.Arrivals has the granted number
}

// Native is the table of C functions behind a Provider, for callers that wait
// in C and must not cross into Go to find the completion queue empty
// (a crossing costs 46 ns, an empty poll less). Each pointer is a C function
// whose first argument is Self; fabric/ofi/native.h declares them.
type Native struct {
	Self unsafe.Pointer
	Poll unsafe.Pointer // int poll(void *self, struct shmemi_completion *c, int max); SHMEMI_IN_GO: Provider.Poll has the completions
	Arm  unsafe.Pointer // int arm(void *self); 1: the caller may wait, 0: poll has work
	Wait unsafe.Pointer // int wait(void *self, int64_t ns); 1: something has arrived, 0: not, negative: an error of libfabric
	Wake unsafe.Pointer // void wake(void *self)
	// Recv and Inject are Provider.Recv and an injected Provider.Send; they return 0, or less when
	// nothing was posted and the Provider has the error. Where they are nil, C cannot serve the
	// endpoint: callers in C may arm, wait and wake, but not poll.
	Recv   unsafe.Pointer // int recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
	Inject unsafe.Pointer // int inject(void *self, uint32_t pe, const void *buf, size_t n)
}

// Provider is one endpoint on one network.
type Provider interface {
	// Caps reports the granted features.
	Caps() Caps
	// Addr returns the endpoint's own address, to be handed to every peer.
	Addr() []byte
	// Connect fills the address vector: addrs[i] is the address of PE i.
	// A nil entry leaves that PE unreachable.
	Connect(addrs [][]byte) error
	// Register makes n bytes at base usable as source, as target and by peers.
	Register(base unsafe.Pointer, n uint64) (Region, error)
	// RegisterGPU is Register for GPU memory. It may have the NIC move a word there, to find out
	// whether the NIC reaches the memory. The descriptor of a dma-buf may be closed afterwards.
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
	// Poll makes progress and fills c with up to len(c) completions. No token comes twice. Poll
	// fails where the queue has overrun (ErrOverrun: some completions never come) or cannot be
	// read, and where an operation of this endpoint without a token has failed.
	//
	// A Poll without completions may still leave work: over sockets a Poll moves one Write of a
	// peer at a time, and such a Write leaves no completion at its target. Ready reports such work.
	Poll(c []Completion) (int, error)
	// Ready reports whether Poll certainly has work now: completions, or bytes to move without one.
	// A provider that cannot know reports false.
	Ready() bool
	// Arm reports whether the caller may Wait. False means that Poll has work now, as Ready does.
	// Anything that arrives after an Arm that returned true ends the Wait.
	Arm() bool
	// Wait sleeps until Poll may have work, Wake is called or d has passed. It follows an Arm that
	// returned true and is called without the caller's lock, so that other threads may post and
	// poll meanwhile. It reports whether something has arrived; a provider that cannot know reports
	// false.
	Wait(d time.Duration) (bool, error)
	// Wake ends a Wait, from any thread.
	Wake()
	// Native returns the C functions behind Poll, Arm, Wait and Wake, or the
	// zero Native where the provider is Go only.
	Native() Native
	// Strangers counts the entries of the completion queue that Poll has dropped because a process
	// outside the job caused them, not an operation of this endpoint.
	Strangers() uint64
	// ErrorText explains the error of a completion and includes the provider's own words.
	ErrorText(c *Completion) string
	// Close releases everything. Operations in flight are dropped: afterwards the provider neither
	// reads nor writes memory of this endpoint.
	Close() error
}

// A Sleeper is a Provider with a descriptor to wait on in place of Wait.
type Sleeper interface {
	Provider
	// WaitFD returns a descriptor that becomes readable when a Wait would end, or a negative number
	// if there is none. After it has become readable, Wait(0) consumes the event.
	WaitFD() int
}

// A Joiner is a Provider that learns of peers after Connect, which gets nil for their addresses.
type Joiner interface {
	Provider
	// Join makes the PE of an address reachable. A PE that was removed does not join again.
	Join(pe libshmem.PE, addr []byte) error
	// Remove ends the connection with a PE, where there are connections, and refuses it from then
	// on. Operations under way on the PE complete, most of them with an error.
	Remove(pe libshmem.PE)
}

// A Holder is a Provider that keeps operations which its caller regards as posted, and which are
// lost if the process ends now. Holds reports whether it keeps any.
type Holder interface {
	Provider
	Holds() bool
}

// A BelatedCounter is a Provider that repeats requests for connections which have no reply. Belated
// counts the requests and words of PEs of the job that were dropped because they came too late.
type BelatedCounter interface {
	Provider
	Belated() uint64
}

// BelatedOf returns Belated of a Provider; 0 if it does not count.
func BelatedOf(p Provider) uint64 {
	if c, ok := p.(BelatedCounter); ok {
		return c.Belated()
	}
	return 0
}

// A Noter is a Provider that lists, in a few words each, the options that it has set on the NIC and
// the options that were refused.
type Noter interface {
	Provider
	Notes() []string
}

// NotesOf returns the notes of Providers, texts about what they could set or use, each once.
func NotesOf(endpoints ...Provider) []string {
	var all []string
	for _, e := range endpoints {
		if n, ok := e.(Noter); ok {
			for _, note := range n.Notes() {
				if !slices.Contains(all, note) {
					all = append(all, note)
				}
			}
		}
	}
	return all
}

// RailCount is the traffic of one NIC of a Provider with several. It has what this endpoint has
// posted and received, and not the one-sided operations of peers, which an endpoint does not see.
type RailCount struct {
	NIC  string
	Ops  uint64 // operations posted; each part of a split one counts
	Out  uint64 // bytes of Writes and Sends
	In   uint64 // bytes of Reads, and of received messages
	Lost uint64 // pairs of this NIC and a NIC of a peer that have failed
}

// Rails is a Provider over several NICs.
type Rails interface {
	Provider
	// Rails reports the traffic of each NIC.
	Rails() []RailCount
}

// Atomics is a Provider whose Caps.Atomics are not empty.
type Atomics interface {
	Provider
	// Atomic posts an atomic operation. ErrAgain: not posted. Only Fence orders it after other
	// operations.
	Atomic(*AMO) error
}
