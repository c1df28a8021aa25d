package network

import "libshmem/runtime/proxy/layout"

// Tile returns the largest tile of eager transfers that puts of the host by the network keep, 4096,
// 128 or 0, and the most bytes of a put that is a message: the target's processor places its bytes,
// in no order.
func (nw *Network) Tile() (tile, message int) {
	if nw.GPU == nil { // else bytes may be staged
		c := nw.Engine.Caps()
		tile = c.Tile(nw.Settings.Ordered.Bytes())
	}
	return tile, layout.MaxPayload
}
