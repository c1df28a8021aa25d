package pe

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"libshmem"
)

func TestCards(t *testing.T) {
	want := []card{
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
	got, err := decodeAll[card](all)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	end := endpointCard{Addr: []byte{0, 255, '"'}, Base: 1<<64 - 1, Key: 1 << 63, Provider: "tcp"}
	b, err := encode(end)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := decodeAll[endpointCard]([][]byte{b})
	if err != nil || !reflect.DeepEqual(ends[0], end) {
		t.Errorf("decoded %+v, %v, want %+v", ends, err, end)
	}
}

func TestEncodeFails(t *testing.T) {
	_, err := encode(func() {})
	var unsupported *json.UnsupportedTypeError
	if !errors.As(err, &unsupported) || !strings.HasPrefix(err.Error(), "encode func(): ") {
		t.Errorf("encoding a function: %v", err)
	}
}

func TestDecodeFails(t *testing.T) {
	good := `{"Version":"1"}`
	for what, bad := range map[string]string{
		"nothing":         "",
		"cut":             `{"Version":"1"`,
		"trailing":        good + "x",
		"no object":       `7`,
		"another type":    `{"Heap":"many"}`,
		"negative size":   `{"Heap":-1}`,
		"fractional size": `{"Heap":1.5}`,
		"too large":       `{"Heap":18446744073709551616}`,
		"binary":          "\x00\xff",
	} {
		_, err := decodeAll[card]([][]byte{[]byte(good), []byte(bad)})
		if err == nil || !strings.HasPrefix(err.Error(), "read what PE 1 says of itself: ") ||
			!strings.HasSuffix(err.Error(), "(start every PE with version "+libshmem.Version+" of the library)") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAgree(t *testing.T) {
	one := card{Version: "1", Heap: 1 << 20, Host: "a"}
	with := func(f func(c *card)) card {
		c := one
		f(&c)
		return c
	}
	elsewhere := with(func(c *card) { c.Host, c.Machine, c.Socket = "b", "n", "s" })
	for what, test := range map[string]struct {
		cards []card
		text  string // of the error; "": none
	}{
		"alone":     {[]card{one}, ""},
		"alike":     {[]card{one, elsewhere, one}, ""},
		"version":   {[]card{one, one, with(func(c *card) { c.Version = "2" })}, "PE 0 has version 1 of the library and PE 2 version 2 (install one version everywhere)"},
		"no card":   {[]card{one, {}}, "PE 0 has version 1 of the library and PE 1 version  (install one version everywhere)"},
		"heap":      {[]card{one, with(func(c *card) { c.Heap = 5 }), one}, "SHMEM_SYMMETRIC_SIZE is 1048576 bytes on PE 0 and 5 on PE 1 (set it alike for all PEs)"},
		"the first": {[]card{with(func(c *card) { c.Heap = 5 }), one, one}, "SHMEM_SYMMETRIC_SIZE is 5 bytes on PE 0 and 1048576 on PE 1 (set it alike for all PEs)"},
	} {
		text := ""
		if err := agree(test.cards); err != nil {
			text = err.Error()
		}
		if text != test.text {
			t.Errorf("%s: %q, want %q", what, text, test.text)
		}
	}
}

func TestFewest(t *testing.T) {
	for _, test := range []struct {
		asked []int
		want  int
	}{
		{[]int{1}, 1}, {[]int{4, 4}, 4}, {[]int{4, 2, 3}, 2}, {[]int{2, 1}, 1}, {[]int{0, 3}, 1},
	} {
		var cards []card
		for _, n := range test.asked {
			cards = append(cards, card{Proxies: n})
		}
		if got := fewest(cards); got != test.want {
			t.Errorf("PEs that ask for %v endpoints open %d, want %d", test.asked, got, test.want)
		}
	}
}

func TestMatch(t *testing.T) {
	tcp, efa := endpointCard{Provider: "tcp"}, endpointCard{Provider: "efa"}
	for what, test := range map[string]struct {
		all  [][]endpointCard
		text string // of the error; "": none
	}{
		"one each":          {[][]endpointCard{{tcp}, {tcp}}, ""},
		"two each":          {[][]endpointCard{{tcp, tcp}, {tcp, tcp}}, ""},
		"too few":           {[][]endpointCard{{tcp, tcp}, {tcp}}, "PE 1 opened 1 endpoints and another 2 (start every PE with the same version of the library)"},
		"none":              {[][]endpointCard{{tcp, tcp}, nil}, "PE 1 opened 0 endpoints and another 2 (start every PE with the same version of the library)"},
		"another provider":  {[][]endpointCard{{tcp}, {efa}}, "PE 0 has provider tcp and PE 1 has efa (name one that all have by SHMEM_PROVIDER)"},
		"two of one and it": {[][]endpointCard{{tcp, tcp}, {tcp, efa}}, "PE 0 has provider tcp and PE 1 has efa (name one that all have by SHMEM_PROVIDER)"},
	} {
		text := ""
		if err := match(test.all, len(test.all[0])); err != nil {
			text = err.Error()
		}
		if text != test.text {
			t.Errorf("%s: %q, want %q", what, text, test.text)
		}
	}
}
