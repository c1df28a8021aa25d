package fabric

// Tile returns the largest tile of eager transfers that Writes keep: 4096, 128 or 0. vouched is
// what the user says of Block, or negative. With several NICs a Write may be repeated after the loss
// of one, when its place has a later token already.
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
