package stats_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (go test -rewrite writes it): %v\ngot\n%s\nwant\n%s", file, err, got, want)
	}
}

// TestList: every counter has a name of its own, and a row in the documentation.
func TestList(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/counters.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(doc, -1) {
		named = append(named, string(m[1]))
	}
	var have []string
	for i, c := range stats.Counters {
		have = append(have, c.Name)
		if stats.Find(c.Name) != i {
			t.Errorf("%q is found at %d, and stands at %d", c.Name, stats.Find(c.Name), i)
		}
		if (c.Scope == stats.Peer) != (i < layout.Counted) || (c.Scope == stats.NIC) != strings.HasPrefix(c.Name, "nic_") {
			t.Errorf("%s: scope %d", c.Name, c.Scope)
		}
	}
	// The tables are by scope, and a counter that came later stands at the end of the list.
	slices.Sort(named)
	slices.Sort(have)
	if !reflect.DeepEqual(named, have) {
		t.Errorf("docs/reference/counters.md has %v, the list %v", named, have)
	}
	if stats.Find("none") != -1 {
		t.Error("a counter that does not exist is found")
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		v    uint64
		u    stats.Unit
		want string
	}{
		{0, stats.Times, "0"}, {1234567890, stats.Times, "1234567890"},
		{9999, stats.Bytes, "9999 B"}, {10_000, stats.Bytes, "9.77 KiB"}, {1 << 20, stats.Bytes, "1 MiB"}, {1023 << 10, stats.Bytes, "0.999 MiB"},
		{3 << 40, stats.Bytes, "3 TiB"}, {1<<64 - 1, stats.Bytes, "16 EiB"},
		{0, stats.Nanoseconds, "0s"}, {1500, stats.Nanoseconds, "1.5µs"}, {12345678, stats.Nanoseconds, "12.346ms"}, {9876543210, stats.Nanoseconds, "9.877s"},
	} {
		if got := stats.Amount(c.v, c.u); got != c.want {
			t.Errorf("%d: %q, want %q", c.v, got, c.want)
		}
	}
}

// some returns a PE with engines that have counted this and that.
func some(me int) stats.PE {
	shown := func(provider string, nics ...fabric.RailCount) *proxy.EndpointPage {
		s := &proxy.EndpointPage{Provider: provider, NICs: nics, Peers: make([]proxy.EndpointPeer, 4), Stalled: 1500 * time.Microsecond, Overslept: 2, Strangers: 3}
		to := &s.Peers[(me+1)%4]
		to.Count = [layout.Counted]uint64{
			layout.MessageBytes: 4000, layout.Atomics: 5, layout.Elements: 7, layout.Puts: 20, layout.Control: 3, layout.Writes: 2, layout.WriteBytes: 100_000 << me,
			layout.MostUnderWay: uint64(3 + me), layout.Retries: uint64(me),
		}
		to.UnderWay, to.Bytes, to.Unacknowledged, to.Flushing = 1, 50_000, 9, true
		s.Peers[(me+3)%4].Count = [layout.Counted]uint64{layout.Received: 35, layout.ReceivedBytes: 4000}
		s.Registered = mrcache.Counts{Hits: 10, Misses: 2, Bytes: 1 << 20}
		return s
	}
	rail := fabric.RailCount{NIC: "rail0", Ops: 10, Out: 500, In: 70}
	return stats.Collect(&statuspage.PE{Stalls: 2, Stall: 3_000_000}, []*proxy.EndpointPage{
		shown("tcp", rail, fabric.RailCount{NIC: "rail1", Ops: 1, Out: 400, Lost: 2}), shown("tcp", rail),
	})
}

func TestCollect(t *testing.T) {
	p := some(1)
	for name, want := range map[string]uint64{
		"elements": 14, "write_bytes": 400_000, "received_bytes": 8000, "most_under_way": 4, "stalls": 2, "stall_ns": 3_000_000,
		"proxy_stall_ns": 3_000_000, "proxy_overslept": 4, "strangers_refused": 6, "registration_hits": 20, "registered_bytes": 2 << 20, "nic_operations": 21, "nic_bytes_out": 1400, "nic_lost": 2,
	} {
		if got := p.Values[stats.Find(name)]; got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if len(p.NICs) != 2 || p.NICs[0].Out != 1000 || len(p.Peers) != 2 || p.Peers[1].PE != 2 || p.Peers[1].Now.Unacknowledged != 18 {
		t.Errorf("%+v", p)
	}
	if v, ok := stats.OfNIC(stats.Find("nic_bytes_in"), &p.NICs[0]); !ok || v != 140 {
		t.Errorf("nic_bytes_in of a NIC: %d, %v", v, ok)
	}
	if _, ok := stats.OfNIC(stats.Find("writes"), &p.NICs[0]); ok {
		t.Error("writes are not kept for each NIC")
	}
}

func TestEncode(t *testing.T) {
	p := some(2)
	b := p.Encode()
	r, err := stats.Decode(b)
	if err != nil || !reflect.DeepEqual(r.Values, p.Values) || !reflect.DeepEqual(r.NICs, p.NICs) || r.Most != 3 || r.Bytes != 808_000 {
		t.Errorf("%+v of %+v: %v", r, p, err)
	}
	if len(b) > 150 {
		t.Errorf("%d bytes", len(b))
	}
	for n := range b {
		if _, err := stats.Decode(b[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are taken", n, len(b))
		}
	}
	if _, err := stats.Decode(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte too many is taken")
	}
	empty := stats.Collect(nil, nil)
	if r, err := stats.Decode(empty.Encode()); err != nil || r.Most != -1 {
		t.Errorf("nothing: %+v, %v", r, err)
	}
}

func FuzzDecode(f *testing.F) {
	p := some(3)
	f.Add(p.Encode())
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = stats.Decode(b) })
}

func TestTables(t *testing.T) {
	var rows []stats.Row
	for me := range 4 {
		p := some(me)
		r, err := stats.Decode(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	var b strings.Builder
	if err := stats.Job(&b, "4 PEs counted", rows); err != nil {
		t.Fatal(err)
	}
	golden(t, "job.txt", b.String())
	b.Reset()
	p := some(3)
	if err := stats.One(&b, "PE 3 counted", &p); err != nil {
		t.Fatal(err)
	}
	golden(t, "one.txt", b.String())
	b.Reset()
	none := stats.Collect(nil, nil)
	r, _ := stats.Decode(none.Encode())
	if err := stats.Job(&b, "2 PEs counted", []stats.Row{r, r}); err != nil {
		t.Fatal(err)
	}
	golden(t, "none.txt", b.String())
	for i := range 40 {
		p.Peers = append(p.Peers, stats.PeerCounters{PE: libshmem.PE(100 + i), Count: [layout.Counted]uint64{layout.WriteBytes: uint64(1000 * i)}})
	}
	most, rest := stats.Busiest(p.Peers)
	if len(most) != 16 || rest != 26 || most[0].PE != 0 || most[1].PE != 139 {
		t.Errorf("%d shown, first PE %d, then PE %d, %d not", len(most), most[0].PE, most[1].PE, rest)
	}
}

func TestLive(t *testing.T) {
	at := time.Unix(1000, 0)
	last := stats.Sample{PE: some(1), At: at.Add(2 * time.Second)}
	first := stats.Sample{PE: some(1), At: at}
	for i := range first.Values {
		first.Values[i] /= 2
	}
	first.NICs[0].Out /= 2
	var b strings.Builder
	if err := stats.Live(&b, &first, &last); err != nil {
		t.Fatal(err)
	}
	golden(t, "live.txt", trimmed(b.String()))
	b.Reset()
	if err := stats.Live(&b, nil, &last); err != nil {
		t.Fatal(err)
	}
	golden(t, "once.txt", trimmed(b.String()))
}

// trimmed returns text without spaces at the ends of lines.
func trimmed(s string) string { return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "") }
