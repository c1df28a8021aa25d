package gpu

// Stream is a queue of work on a GPU, as the driver names it: a program's own
// stream is one too. 0 is the default stream.
type Stream uintptr

// Event marks a place in a Stream.
type Event uintptr

// Condition is a stream's wait on a word of 64 bits.
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
	Pageable   Place = iota // memory that the driver does not know: of the CPU, or not mapped at all
	PinnedHost              // main memory that the GPUs have mapped
	OnDevice                // memory of a GPU
	Placed                  // managed memory, which the driver moves
)

var placeNames = [...]string{Pageable: "pageable", PinnedHost: "pinned", OnDevice: "device", Placed: "managed"}

func (p Place) String() string { return placeNames[p] }

// Pointer is a driver's facts about an address.
type Pointer struct {
	Place  Place
	Device int     // number of the GPU; only for OnDevice and Placed
	Host   Address // as the CPU addresses it; 0 where it does not
	Base   Address // where its allocation, or its range of addresses, begins
	Size   uint64  // from Base on
	Buffer uint64  // of an allocation alone in the process's whole life
	Tied   bool    // copies of it are carried out when nothing holds the context that it was made in
}
