package fabric

import "testing"

func TestTile(t *testing.T) {
	for _, tt := range []struct {
		caps    Caps
		vouched int
		want    int
		gpu     int // in the memory of a GPU
	}{
		{Caps{Provider: "efa", Block: 128}, -1, 128, 128},
		{Caps{Provider: "efa"}, -1, 0, 0},
		{Caps{Provider: "efa", Block: 64}, -1, 0, 0},
		{Caps{Provider: "efa", Block: 128}, 0, 0, 0},
		{Caps{Provider: "verbs;ofi_rxm"}, 4096, 4096, 4096},
		{Caps{Provider: "verbs;ofi_rxm"}, 128, 128, 128},
		{Caps{Provider: "verbs;ofi_rxm", Block: 1 << 62}, -1, 4096, 4096},
		{Caps{Provider: "efa", Block: 128, Rails: 4}, -1, 0, 0},
		{Caps{Provider: "efa", Block: 128, Rails: 2}, -1, 0, 0},
		{Caps{Provider: "efa", Rails: 4}, 4096, 0, 0},
		{Caps{Provider: "efa", Block: 128, Repeats: true}, -1, 0, 0},
		{Caps{Provider: "efa", Rails: 1, Block: 128}, -1, 128, 128},
		{Caps{Provider: "cxi", Block: 1 << 62}, -1, 4096, 0},
		{Caps{Provider: "cxi"}, 4096, 4096, 0},
		{Caps{Provider: "tcp;ofi_rxm", Block: 1 << 62}, -1, 0, 0},
		{Caps{Provider: "tcp;ofi_rxm"}, 4096, 0, 0},
		{Caps{Provider: "net"}, 4096, 0, 0},
	} {
		if got, gpu := tt.caps.Tile(tt.vouched), tt.caps.GPUTile(tt.vouched); got != tt.want || gpu != tt.gpu {
			t.Errorf("%s with blocks of %d, %d NICs, vouched %d: tiles of %d, and %d in a GPU's memory, want %d and %d",
				tt.caps.Provider, tt.caps.Block, tt.caps.Rails, tt.vouched, got, gpu, tt.want, tt.gpu)
		}
	}
}

func TestNotified(t *testing.T) {
	carries := Caps{Data: 4, Source: true, DeliveryComplete: true, MaxMessage: 1 << 30}
	for _, tt := range []struct {
		name   string
		change func(c *Caps)
		want   uint64
	}{
		{"efa", func(*Caps) {}, 1 << 30},
		{"messages behind writes", func(c *Caps) { c.SendAfterWrite = true }, 0},
		{"data of 2 bytes", func(c *Caps) { c.Data = 2 }, 0},
		{"without a name of the writer", func(c *Caps) { c.Source = false }, 0},
		{"several NICs", func(c *Caps) { c.Rails, c.Stripe = 4, 128<<10 }, 128 << 10},
		{"several NICs, writes that may be under way when they complete", func(c *Caps) { c.Stripe, c.DeliveryComplete = 128<<10, false }, 1 << 30},
		{"chaos", func(c *Caps) { c.Repeats = true }, 1 << 30},
	} {
		c := carries
		if tt.change(&c); c.Notified() != tt.want {
			t.Errorf("%s: writes of up to %d bytes carry a notification, want %d", tt.name, c.Notified(), tt.want)
		}
	}
}
