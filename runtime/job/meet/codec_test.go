package meet

import (
	"bytes"
	"strings"
	"testing"

	"libshmem"
)

// record is a struct as PEs send it.
type record struct {
	Version string
	Heap    uint64
}

func TestEncodeFails(t *testing.T) {
	_, err := Encode(func() {})
	if err == nil || err.Error() != "encode func(): peer info cannot contain a func" {
		t.Errorf("encoding a function: %v", err)
	}
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	b, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeFails(t *testing.T) {
	good := encoded(t, record{Version: "1", Heap: 1 << 20})
	for what, bad := range map[string][]byte{
		"nothing":       nil,
		"cut":           good[:len(good)-1],
		"trailing":      append(bytes.Clone(good), 0),
		"JSON":          []byte(`{"Version":"1"}`),
		"endless":       bytes.Repeat([]byte{255}, 40),
		"a long string": {255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 'x'},
	} {
		_, err := DecodeAll[record]([][]byte{good, bad})
		if err == nil || !strings.HasPrefix(err.Error(), "read the peer info of PE 1: ") ||
			!strings.HasSuffix(err.Error(), "(start every PE with version "+libshmem.Version+" of the library)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := DecodeAll[struct{ Small int8 }]([][]byte{encoded(t, struct{ Small int }{1000})})
	if err == nil {
		t.Error("1000 is an int8")
	}
}
