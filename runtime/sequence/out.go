package sequence

import (
	"errors"
	"fmt"
)

// Default leaves half of the immediate data to the stream. 100 Gb/s carry a thousand writes of 8
// KiB in 0.7 ms, which is many round trips.
var Default = Space{Bits: 16, Window: 1024}

func (s Space) mask() uint32 { return 1<<s.Bits - 1 }

// Check reports whether the ends of a flow can work with s.
func (s Space) Check() error {
	if s.Bits < 2 || s.Bits > 16 || s.Window == 0 || s.Window > 1<<(s.Bits-1) {
		return fmt.Errorf("order: %d bits and a window of %d writes (2 to 16 bits, and at most half of their numbers)", s.Bits, s.Window)
	}
	return nil
}

// HasRoom reports whether one more write may be posted.
func (o *Out) HasRoom() bool { return o.Posted-o.In < o.Space.Window }

// Unacknowledged returns how many writes are not known to be in.
func (o *Out) Unacknowledged() uint32 { return o.Posted - o.In }

// Write counts a write, for which there is room, and returns its number. One that
// the provider then refuses is taken back by Unwrite before anything else happens.
func (o *Out) Write() uint32 {
	n := o.Posted & o.Space.mask()
	o.Posted++
	return n
}

// Unwrite takes the last Write back.
func (o *Out) Unwrite() { o.Posted-- }

// Follow has all later messages follow the writes of before: a fence asks for this, and a signal
// behind its bytes.
func (o *Out) Follow() { o.After = o.Posted }

// Need returns the number that the next message has to carry.
func (o *Out) Need() uint32 { return o.After }

// All returns the number for a message that follows every write so far and does not change the
// number that later messages follow.
func (o *Out) All() uint32 { return o.Posted }

// ErrNumbers reports impossible numbers from the other end: it is of another job or another
// version, or the network loses or repeats.
var ErrNumbers = errors.New("order: numbers that no end of this flow has given")

// Acked takes an acknowledgement. An older one than the last is no mistake: acknowledgements of
// several messages may be read in any order. The next message follows acknowledged writes anyway,
// and its count says so: in a flow without fences the count would fall behind for ever.
func (o *Out) Acked(ack uint32) error {
	switch {
	case ack-o.In <= o.Posted-o.In:
		o.In = ack
		if int32(ack-o.After) > 0 {
			o.After = ack
		}
	case o.In-ack > 1<<31:
		return fmt.Errorf("%w: %d writes acknowledged of %d posted", ErrNumbers, ack, o.Posted)
	}
	return nil
}
