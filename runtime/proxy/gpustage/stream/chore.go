package stream

// Chore is work to do when a stream has passed the work before it. Only For and What have a meaning
// here.
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

// Follower does chores. It may use a chore until it returns.
type Follower interface {
	Follow(c *Chore)
}
