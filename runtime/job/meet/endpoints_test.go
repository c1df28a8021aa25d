package meet

import "testing"

func TestMatchEndpoints(t *testing.T) {
	tcp, efa := EndpointInfo{Provider: "tcp"}, EndpointInfo{Provider: "efa"}
	for what, test := range map[string]struct {
		all  [][]EndpointInfo
		text string // of the error; "": none
	}{
		"one each":          {[][]EndpointInfo{{tcp}, {tcp}}, ""},
		"two each":          {[][]EndpointInfo{{tcp, tcp}, {tcp, tcp}}, ""},
		"too few":           {[][]EndpointInfo{{tcp, tcp}, {tcp}}, "PE 1 opened 1 endpoints and another 2 (start every PE with the same version of the library)"},
		"none":              {[][]EndpointInfo{{tcp, tcp}, nil}, "PE 1 opened 0 endpoints and another 2 (start every PE with the same version of the library)"},
		"another provider":  {[][]EndpointInfo{{tcp}, {efa}}, "PE 0 has provider tcp and PE 1 has efa (name one that all have in SHMEM_PROVIDER)"},
		"two of one and it": {[][]EndpointInfo{{tcp, tcp}, {tcp, efa}}, "PE 0 has provider tcp and PE 1 has efa (name one that all have in SHMEM_PROVIDER)"},
	} {
		text := ""
		if err := MatchEndpoints(test.all, len(test.all[0])); err != nil {
			text = err.Error()
		}
		if text != test.text {
			t.Errorf("%s: %q, want %q", what, text, test.text)
		}
	}
}
