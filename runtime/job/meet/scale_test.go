package meet

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/topo"
)

var maxPEs = flag.Int("pes", 10_000, "the most PEs in TestBootstrapScale")

// framed returns a frame with its payload.
func framed(t *testing.T, kind wire.Kind, payload []byte) []byte {
	t.Helper()
	b, err := wire.Append(nil, wire.Frame{Kind: kind, Seq: 1, Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gathered returns the answer to an Allgather as a PE reads it.
func gathered(t *testing.T, answer []byte) [][]byte {
	t.Helper()
	f, err := wire.Read(bytes.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := wire.ParseParts(f.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func allocated(f func()) (bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBootstrapScale measures how one PE of many meets the others, with 64 of them on a host: the
// bytes that it gets, the memory that it needs for a moment, and the memory that it keeps. Only the
// number of bytes can fail the test.
func TestBootstrapScale(t *testing.T) {
	for _, n := range []int{2, 64, 1000, 10_000, 100_000} {
		if n > *maxPEs {
			break
		}
		met := make([][]byte, n)
		ends := make([][]byte, n)
		for pe := range n {
			host := fmt.Sprintf("9f86d081884c7d659a2feaa0c55ad015/node%05d", pe/64)
			var err error
			if met[pe], err = Encode(Info{
				Version: libshmem.Version, Host: host, Machine: host, Network: host, Heap: 1 << 30,
				Socket: fmt.Sprintf("@shmem-%d-%d", 10_000+pe, pe), Proxies: 1,
			}); err != nil {
				t.Fatal(err)
			}
			if ends[pe], err = Encode([]EndpointInfo{{
				Addr: append([]byte{2, 0}, bytes.Repeat([]byte{byte(pe >> 8), byte(pe)}, 7)...),
				Base: uint64(0x7f0000000000 + pe<<21), Key: uint64(pe) * 0x9e3779b97f4a7c15, Provider: "tcp;ofi_rxm",
			}}); err != nil {
				t.Fatal(err)
			}
		}
		sent := len(framed(t, wire.Gather, met[n-1])) + len(framed(t, wire.Gather, ends[n-1]))
		first := framed(t, wire.Gathered, wire.AppendParts(nil, met))
		second := framed(t, wire.Gathered, wire.AppendParts(nil, ends))
		var nodes *topo.Nodes
		start := time.Now()
		passing := allocated(func() {
			infos, err := DecodeAll[Info](gathered(t, first))
			if err != nil {
				t.Fatal(err)
			}
			if err := agree(infos); err != nil {
				t.Fatal(err)
			}
			hosts := make([]string, n)
			for i, c := range infos {
				hosts[i] = c.Host
			}
			nodes = topo.NewNodes(hosts)
			all, err := DecodeAll[[]EndpointInfo](gathered(t, second))
			if err != nil {
				t.Fatal(err)
			}
			if err := MatchEndpoints(all, 1); err != nil {
				t.Fatal(err)
			}
		})
		took := time.Since(start)
		kept := 8*n + len(nodes.Members)*int(unsafe.Sizeof(nodes.Members[0])) + 4*n
		t.Logf("%6d PEs: sends %d bytes in 2 messages, gets %d and %d bytes (%.0f for each PE), %.0f bytes for each PE pass through memory, %d KiB stay; %v",
			n, sent, len(first), len(second), float64(len(first)+len(second))/float64(n), float64(passing)/float64(n), kept>>10, took.Round(time.Millisecond))
		if got := len(first) + len(second); got > 256*n {
			t.Errorf("%d PEs: a PE gets %d bytes, more than 256 for each", n, got)
		}
	}
}
