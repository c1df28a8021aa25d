package fabric

// Tile returns the size of the largest tile of an eager transfer that a Write keeps: the tile's
// bytes become visible by ascending address, so that a reader who finds the signal at its end finds
// its data. 0: none. vouched is the user's own value for Block, or negative. With several NICs none
// is kept: a Write may be repeated after the loss of one, when a later token is in its place.
func (c *Caps) Tile(vouched int) int {
	block := c.Block
	if vouched >= 0 {
		block = vouched
	}
	switch {
	case OverSockets(c.Provider) || c.Rails > 1 || c.Repeats || block < 128:
		return 0
	case block < 4096:
		return 128
	}
	return 4096
}

// GPUTile is Tile for Writes to the memory of a GPU. Such memory may be registered with relaxed
// ordering, and then the bytes of a Write pass each other on PCIe. efa and verbs of libfabric ask for
// that only where a flag of the registration says so, which this library leaves out; of other
// providers it is not known.
func (c *Caps) GPUTile(vouched int) int {
	if base := Base(c.Provider); base != "efa" && base != "verbs" {
		return 0
	}
	return c.Tile(vouched)
}

// Notified returns the most bytes of a Write that may carry a notification, 0 where none may. The
// immediate data of such a Write names a counter of the target and the number of the Write. Where
// messages arrive after earlier Writes, Writes have no numbers, and a notification is a message of
// its own. A Write that is spread over several NICs has no number either, if its completion says
// that it has arrived.
func (c *Caps) Notified() uint64 {
	switch {
	case c.SendAfterWrite || c.Data < 4 || !c.Source:
		return 0
	case c.Stripe > 0 && c.DeliveryComplete:
		return min(c.Stripe, c.MaxMessage)
	}
	return c.MaxMessage
}
