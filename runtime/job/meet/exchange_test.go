package meet

import (
	"reflect"
	"testing"

	"libshmem/runtime/proxy/gpustage"
	"libshmem/tests/mutate"
)

func TestPeerInfo(t *testing.T) {
	want := []Info{
		{Version: "1", Host: "a", Machine: "m", Heap: 1 << 40, Socket: "\x00socket"},
		{Version: "1", Host: "b \"quoted\" é", Machine: "m", Heap: 1<<64 - 1},
		{},
	}
	var all [][]byte
	for _, c := range want {
		b, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	got, err := DecodeAll[Info](all)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	end := EndpointInfo{Addr: []byte{0, 255, '"'}, Base: 1<<64 - 1, Key: 1 << 63, Provider: "tcp"}
	b, err := Encode(end)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := DecodeAll[EndpointInfo]([][]byte{b})
	if err != nil || !reflect.DeepEqual(ends[0], end) {
		t.Errorf("decoded %+v, %v, want %+v", ends, err, end)
	}
}

func mustEncode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzPeerInfo decodes arbitrary bytes. Decoding may not take more memory than the bytes allow for.
func FuzzPeerInfo(f *testing.F) {
	for _, in := range soundInfos(f) {
		f.Add(in)
	}
	f.Fuzz(decodeChanged)
}

// TestMutations is FuzzPeerInfo for changed peer infos.
func TestMutations(t *testing.T) {
	mutate.Each(t, soundInfos(t), func(in []byte) { decodeChanged(t, in) })
}

func soundInfos(t testing.TB) [][]byte {
	return [][]byte{
		mustEncode(t, Info{Version: "1", Host: "h", Socket: "s", Proxies: 3}),
		mustEncode(t, []EndpointInfo{{Addr: []byte{1}, Extents: []gpustage.Extent{{Offset: 1, Size: 2, Key: 3}}, Provider: "tcp"}}),
	}
}

func decodeChanged(t *testing.T, in []byte) {
	if infos, err := DecodeAll[Info]([][]byte{in}); err == nil {
		again, err := DecodeAll[Info]([][]byte{mustEncode(t, infos[0])})
		if err != nil || !reflect.DeepEqual(again, infos) {
			t.Fatalf("% x: %+v came back as %+v, %v", in, infos, again, err)
		}
	}
	if ends, err := DecodeAll[[]EndpointInfo]([][]byte{in}); err == nil && len(ends[0]) > len(in) {
		t.Fatalf("% x: %d endpoints", in, len(ends[0]))
	}
}
