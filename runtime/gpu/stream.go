package gpu

// Stream is the driver's handle of a CUDA stream, of the library or of the program.
// 0 is the default stream.
type Stream uintptr

// Event is the driver's handle of a CUDA event, which marks a point in a Stream.
type Event uintptr

// Condition is the condition on a word of 64 bits for which a stream waits.
type Condition uint8

// The conditions.
const (
	AtLeast Condition = iota // the word less the value, as a signed number, is not negative
	Equal                    // the word is the value
	And                      // the word has a bit of the value
)

// Place says where memory is.
type Place uint8

// The places.
const (
	Pageable      Place = iota // memory that the driver does not know: of the CPU, or not mapped
	PinnedHost                 // main memory that the GPUs have mapped
	OnDevice                   // memory of a GPU
	ManagedMemory              // managed memory, which the driver moves
)

var placeNames = [...]string{Pageable: "pageable", PinnedHost: "pinned", OnDevice: "device", ManagedMemory: "managed"}

// String returns the word for a place in messages.
func (p Place) String() string { return placeNames[p] }

// Pointer is what a driver reports about an address.
type Pointer struct {
	Place          Place
	Device         int     // number of the GPU; only for OnDevice and ManagedMemory
	Host           Address // the address for the CPU; 0 if the CPU does not reach the memory
	Base           Address // where the allocation, or the reserved range of addresses, begins
	Size           uint64  // from Base on
	Buffer         uint64  // id of the allocation, which the driver never uses again in this process
	OwnedByContext bool    // copies of it wait while the context that it was allocated in is blocked
}
