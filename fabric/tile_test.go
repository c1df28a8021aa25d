package fabric

import "testing"

func TestTile(t *testing.T) {
	for _, tt := range []struct {
		caps    Caps
		vouched int
		want    int
	}{
		{Caps{Provider: "efa", Block: 128}, -1, 128},
		{Caps{Provider: "efa"}, -1, 0},
		{Caps{Provider: "efa", Block: 64}, -1, 0},
		{Caps{Provider: "efa", Block: 128}, 0, 0},
		{Caps{Provider: "verbs;ofi_rxm"}, 4096, 4096},
		{Caps{Provider: "verbs;ofi_rxm"}, 128, 128},
		{Caps{Provider: "verbs;ofi_rxm", Block: 1 << 62}, -1, 4096},
		{Caps{Provider: "efa", Block: 128, Rails: 4}, -1, 0},
		{Caps{Provider: "efa", Rails: 4}, 4096, 0},
		{Caps{Provider: "efa", Block: 128, Repeats: true}, -1, 0},
		{Caps{Provider: "efa", Rails: 1, Block: 128}, -1, 128},
		{Caps{Provider: "tcp;ofi_rxm", Block: 1 << 62}, -1, 0},
		{Caps{Provider: "net"}, 4096, 0},
	} {
		if got := tt.caps.Tile(tt.vouched); got != tt.want {
			t.Errorf("%s with blocks of %d, %d NICs, vouched %d: tiles of %d, want %d", tt.caps.Provider, tt.caps.Block, tt.caps.Rails, tt.vouched, got, tt.want)
		}
	}
}
