package job

import "testing"

func TestAgree(t *testing.T) {
	one := peerInfo{Version: "1", Heap: 1 << 20, Host: "a"}
	with := func(f func(c *peerInfo)) peerInfo {
		c := one
		f(&c)
		return c
	}
	elsewhere := with(func(c *peerInfo) { c.Host, c.Machine, c.Socket = "b", "n", "s" })
	for what, test := range map[string]struct {
		cards []peerInfo
		text  string // of the error; "": none
	}{
		"alone":     {[]peerInfo{one}, ""},
		"alike":     {[]peerInfo{one, elsewhere, one}, ""},
		"version":   {[]peerInfo{one, one, with(func(c *peerInfo) { c.Version = "2" })}, "PE 0 has version 1 of the library and PE 2 version 2 (install one version everywhere)"},
		"no card":   {[]peerInfo{one, {}}, "PE 0 has version 1 of the library and PE 1 version  (install one version everywhere)"},
		"heap":      {[]peerInfo{one, with(func(c *peerInfo) { c.Heap = 5 }), one}, "SHMEM_SYMMETRIC_SIZE is 1048576 bytes on PE 0 and 5 on PE 1 (set it alike for all PEs)"},
		"the first": {[]peerInfo{with(func(c *peerInfo) { c.Heap = 5 }), one, one}, "SHMEM_SYMMETRIC_SIZE is 5 bytes on PE 0 and 1048576 on PE 1 (set it alike for all PEs)"},
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
		var infos []peerInfo
		for _, n := range test.asked {
			infos = append(infos, peerInfo{Proxies: n})
		}
		if got := fewest(infos); got != test.want {
			t.Errorf("PEs that ask for %v endpoints open %d, want %d", test.asked, got, test.want)
		}
	}
}
