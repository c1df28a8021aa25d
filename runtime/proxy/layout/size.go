package layout

// MaxPayload is the largest put with a signal, in bytes, that travels as one message. A larger one
// is a write and then a message, which take twice as long over tcp.
const MaxPayload = MessageSize - HeaderSize

// Tokens of an endpoint: Receives for the first receive buffers, and then, up to Tokens, those of
// operations under way. Further receive buffers (State.MoreRecv) have the tokens from Tokens on.
const (
	Receives = 64
	Tokens   = Receives + 512
)

// Values of State.Busy.
const (
	BusyStreams = 1 // bit: a stream of a GPU has work
	BusyRoom    = 2 // bit: an operation on GPU memory could not be posted and waits
)
