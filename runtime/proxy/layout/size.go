package layout

// MaxPayload is the largest put with a signal that travels as a message. Above it they are a write
// and a message behind it, which take twice as long over tcp.
const MaxPayload = MessageSize - HeaderSize

// Tokens of an endpoint: first those of its receive buffers, without the further ones, and then
// those of operations under way.
const (
	Receives = 64
	Tokens   = Receives + 512
)

// Values of State.Busy.
const (
	BusyCopies = 1 // a stream of a GPU has work
	BusyRoom   = 2 // an operation on GPU memory waits for room
)
