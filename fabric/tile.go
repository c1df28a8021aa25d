package fabric

// Tile returns the size in bytes of the largest tile that a Write keeps, or 0. An eager transfer
// moves data and their signal in one Write, in tiles: a tile is a block with a signal at its end. A
// Write keeps a tile if the tile's bytes become visible at the target by ascending address, so that
// a reader who finds the signal also finds the data before it. If userBlock is not negative, it is
// the value that the user has set for Block. With several NICs, or with chaos (Repeats), no tile is
// kept: a Write may be repeated when a later transfer has already reused its memory. Sockets promise
// no order in which bytes become visible.
func (c *Caps) Tile(userBlock int) int {
	block := c.Block
	if userBlock >= 0 {
		block = userBlock
	}
	// Tokens have tiles of 4096 or of 128 bytes (device/shmem/eager_layout.h), or no tiles.
	switch {
	case OverSockets(c.Provider) || c.Rails > 1 || c.Repeats || block < 128:
		return 0
	case block < 4096:
		return 128
	}
	return 4096
}

// GPUTile is like Tile, for a Write to the memory of a GPU. Such memory may be registered with
// relaxed ordering, and then the bytes of a Write pass each other on PCIe. The providers efa and
// verbs request relaxed ordering only for registrations with a flag that this library does not set.
// Of other providers it is not known, so for them GPUTile returns 0.
func (c *Caps) GPUTile(userBlock int) int {
	if base := Base(c.Provider); base != "efa" && base != "verbs" {
		return 0
	}
	return c.Tile(userBlock)
}

// Notified returns the most bytes of a Write that may carry a notification, 0 where none may. The
// immediate data of such a Write names a counter of the target and the number of the Write. Where
// messages arrive after earlier Writes, Writes have no numbers, and a notification is a message of
// its own. Over several NICs a Write of more than Stripe bytes is cut up and has no number either,
// if its completion says that it has arrived.
func (c *Caps) Notified() uint64 {
	switch {
	case c.SendAfterWrite || c.Data < 4 || !c.Source:
		return 0
	case c.Stripe > 0 && c.DeliveryComplete:
		return min(c.Stripe, c.MaxMessage)
	}
	return c.MaxMessage
}
