package gpustage

// The progress for another PE counts the messages of that PE about GPU memory, and how many of them
// this PE has carried out.
//
// The messages of a PE take effect in their order. This PE reads the bytes that a request to send
// announces (pulls), and stores other messages until earlier ones are complete (arrivals). Each of
// these two parts counts its own work here, and reads the count of the other.

// progress counts the work for one PE's messages about GPU memory.
type progress struct {
	Kept   progressCount // messages that had to wait
	Pulls  progressCount // pulls of the PE's puts; done: these and all before are in stream.In or in place
	Issued uint64        // mark of stream.In after all work for the PE
	Stored uint64        // mark of stream.In after the last store for the PE
}

// progressCount counts pieces of work: all that have arrived, and those that are done.
type progressCount struct{ All, Done uint64 }

// Open reports whether some work is not done.
func (c *progressCount) Open() bool { return c.Done != c.All }
