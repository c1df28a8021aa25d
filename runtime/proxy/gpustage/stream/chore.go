package stream

// Chore is a task of the CPU for the time when a stream has carried out the work before it, for
// example to free a slot. For performs it, and only For knows the meaning of the other fields.
type Chore struct {
	For    Follower
	Value  uint64
	N      uint64
	PE     uint32
	Token  uint32
	Index  uint16
	What   uint8 // one of the numbers of For
	Width  uint8
	Parity uint8

	mark uint64
}

// Follower performs chores. It may use a chore until it returns.
type Follower interface {
	Follow(c *Chore)
}
