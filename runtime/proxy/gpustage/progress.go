package gpustage

// The progress for another PE is how far this PE has carried out its messages that concern GPU
// memory.
//
// The messages of a PE take effect in their order. Bytes that a request to send announces come in
// by reads, and other messages are kept until their time has come. Each of the two parts that do
// this work counts its own here, and reads the count of the other.

// progress is the progress for one PE.
type progress struct {
	Kept   progressCount // messages that had to wait
	Pulls  progressCount // requests to put bytes; done: these bytes and all before are in stream.In or in place
	Issued uint64        // mark of stream.In behind all work for the PE
	Stored uint64        // the same, behind its last store
}

// progressCount is the number of pieces of work so far, and how many of them are done.
type progressCount struct{ All, Done uint64 }

// Open reports whether some work is not done.
func (c *progressCount) Open() bool { return c.Done != c.All }
