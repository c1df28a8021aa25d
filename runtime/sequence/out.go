package sequence

import (
	"errors"
	"fmt"
)

// Default leaves half of the bits of immediate data for the stream number. Its window of 1024
// writes is enough: at 100 Gb/s a thousand writes of 8 KiB take 0.7 ms, which is many round trips.
var Default = Space{Bits: 16, Window: 1024}

// mask selects the bits of a write's number that travel in immediate data.
func (s Space) mask() uint32 { return 1<<s.Bits - 1 }

// Check returns an error if a flow cannot work with s. At most half of the numbers may be in
// flight, because otherwise the target could not know whether a number is ahead or late.
func (s Space) Check() error {
	if s.Bits < 2 || s.Bits > 16 || s.Window == 0 || s.Window > 1<<(s.Bits-1) {
		return fmt.Errorf("order: %d bits and a window of %d writes (2 to 16 bits, and at most half of their numbers)", s.Bits, s.Window)
	}
	return nil
}

// HasRoom reports whether one more write may be posted: whether fewer than a window of writes are
// not acknowledged. Posted counts the writes, and In those that the target has acknowledged.
func (o *Out) HasRoom() bool { return o.Posted-o.In < o.Space.Window }

// Unacknowledged returns how many posted writes the target has not acknowledged.
func (o *Out) Unacknowledged() uint32 { return o.Posted - o.In }

// Write counts one more write and returns its number. The caller has checked HasRoom.
// If the provider then refuses the write, the caller calls Unwrite at once.
func (o *Out) Write() uint32 {
	n := o.Posted & o.Space.mask()
	o.Posted++
	return n
}

// Unwrite undoes the last Write, which the provider has refused.
func (o *Out) Unwrite() { o.Posted-- }

// Follow makes all later messages wait, at the target, for all writes so far: for a fence, or for a
// signal that must not be applied before the put's bytes.
func (o *Out) Follow() { o.After = o.Posted }

// Need returns the number that the next message carries: how many writes must have arrived before
// the target applies it.
func (o *Out) Need() uint32 { return o.After }

// All returns the number for a message that follows every write so far. Unlike Follow it does not
// change what later messages follow.
func (o *Out) All() uint32 { return o.Posted }

// ErrNumbers reports impossible numbers from the other PE: it belongs to another job or version, or
// the network loses or repeats writes.
var ErrNumbers = errors.New("order: numbers that no end of this flow has given")

// HandleAck handles an acknowledgement: all writes below ack have arrived. An ack that is older
// than the last is no error, because messages may be read in any order. HandleAck also raises the
// count that the next message carries (After) to ack, although the target has these writes already:
// counts are compared by their distance, and in a flow without fences the distance to a count that
// never changes would grow without limit.
func (o *Out) HandleAck(ack uint32) error {
	switch {
	case ack-o.In <= o.Posted-o.In:
		o.In = ack
		if int32(ack-o.After) > 0 {
			o.After = ack
		}
	case o.In-ack > 1<<31: // ack is not older than the last one, so it is beyond the posted writes
		return fmt.Errorf("%w: %d writes acknowledged of %d posted", ErrNumbers, ack, o.Posted)
	}
	return nil
}
