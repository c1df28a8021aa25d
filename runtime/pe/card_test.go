package pe

import "testing"

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
