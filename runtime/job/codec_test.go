package job

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/proxy/gpustage"
)

func TestPeerInfo(t *testing.T) {
	want := []peerInfo{
		{Version: "1", Host: "a", Machine: "m", Heap: 1 << 40, Socket: "\x00socket"},
		{Version: "1", Host: "b \"quoted\" é", Machine: "m", Heap: 1<<64 - 1},
		{},
	}
	var all [][]byte
	for _, c := range want {
		b, err := encode(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	got, err := decodeAll[peerInfo](all)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	end := endpointInfo{Addr: []byte{0, 255, '"'}, Base: 1<<64 - 1, Key: 1 << 63, Provider: "tcp"}
	b, err := encode(end)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := decodeAll[endpointInfo]([][]byte{b})
	if err != nil || !reflect.DeepEqual(ends[0], end) {
		t.Errorf("decoded %+v, %v, want %+v", ends, err, end)
	}
}

func TestEncodeFails(t *testing.T) {
	_, err := encode(func() {})
	if err == nil || err.Error() != "encode func(): peer info cannot contain a func" {
		t.Errorf("encoding a function: %v", err)
	}
}

func mustEncode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeFails(t *testing.T) {
	good := mustEncode(t, peerInfo{Version: "1", Heap: 1 << 20})
	for what, bad := range map[string][]byte{
		"nothing":       nil,
		"cut":           good[:len(good)-1],
		"trailing":      append(bytes.Clone(good), 0),
		"JSON":          []byte(`{"Version":"1"}`),
		"endless":       bytes.Repeat([]byte{255}, 40),
		"a long string": {255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 'x'},
	} {
		_, err := decodeAll[peerInfo]([][]byte{good, bad})
		if err == nil || !strings.HasPrefix(err.Error(), "read the peer info of PE 1: ") ||
			!strings.HasSuffix(err.Error(), "(start every PE with version "+libshmem.Version+" of the library)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := decodeAll[struct{ Small int8 }]([][]byte{mustEncode(t, struct{ Small int }{1000})})
	if err == nil {
		t.Error("1000 is an int8")
	}
}

// FuzzPeerInfo decodes arbitrary bytes. Decoding may not take more memory than the bytes allow for.
func FuzzPeerInfo(f *testing.F) {
	f.Add(mustEncode(f, peerInfo{Version: "1", Host: "h", Socket: "s", Proxies: 3}))
	f.Add(mustEncode(f, []endpointInfo{{Addr: []byte{1}, Extents: []gpustage.Extent{{Offset: 1, Size: 2, Key: 3}}, Provider: "tcp"}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		if infos, err := decodeAll[peerInfo]([][]byte{in}); err == nil {
			again, err := decodeAll[peerInfo]([][]byte{mustEncode(t, infos[0])})
			if err != nil || !reflect.DeepEqual(again, infos) {
				t.Fatalf("% x: %+v came back as %+v, %v", in, infos, again, err)
			}
		}
		if ends, err := decodeAll[[]endpointInfo]([][]byte{in}); err == nil && len(ends[0]) > len(in) {
			t.Fatalf("% x: %d endpoints", in, len(ends[0]))
		}
	})
}
