package layout

// MaxPayload is the largest put that travels as a message.
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
