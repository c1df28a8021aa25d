package sim

import (
	"slices"
	"strings"
	"testing"

	"libshmem/fabric/faults"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		text, again string // again is "" where it is the text
		faults      []faults.Fault
	}{
		{"efa", "", nil},
		{"tcp-rough", "", nil},
		{"efa,bandwidth=100G", "", nil},
		{"efa-direct-rough", "", nil},
		{"efa-direct,longest=4096,queue=64,handshake=2,retries=0,strangers=1,injectwrite=8", "efa-direct,longest=4096,queue=64,handshake=2,retries=0,strangers=1,injectwrite=8", nil},
		{"efa-100,software=1", "", nil},
		{"worst,mtu=512,saw=1,delivery=0,reorder=0.25,delay=3µs", "", nil},
		{"verbs,nics=4,rails=2,cross=1.5us,depth=7", "verbs,rails=2,cross=1.5µs,nics=4,depth=7", nil},
		{"tcp,reorder=0.2", "tcp", nil},
		{"worst-rough,pollbytes=4096", "", nil},
		{"tcp,drop-peer=3@5ms,lose-nic=1/2@1us,restore-nic=1/2@2us,drop-peer=0,nics=3", "tcp,nics=3", []faults.Fault{
			{At: 5 * Millisecond, Host: 3, NIC: -1}, {At: Microsecond, Host: 1, NIC: 2}, {At: 2 * Microsecond, Host: 1, NIC: 2, Up: true}, {NIC: -1},
		}},
	} {
		m, planned, err := Parse(c.text)
		if err != nil || !slices.Equal(planned, c.faults) {
			t.Errorf("%s: faults %v, error %v", c.text, planned, err)
			continue
		}
		if c.again == "" {
			c.again = c.text
		}
		if got := m.String(); got != c.again {
			t.Errorf("%s is written as %s, want %s", c.text, got, c.again)
		}
		again, _, err := Parse(m.String())
		if err != nil || again != m {
			t.Errorf("%s is not the model that %s was", m, c.text)
		}
	}
}

func TestTextRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "there is no model",
		"token-ring":                 "there is no model \"token-ring\" of a network (the models are tcp,",
		"efa,reorder":                "has no value",
		"efa,reorder=2":              "is not a share",
		"efa,reorder=NaN":            "is not a share",
		"efa,delay=5":                "is not a time",
		"efa,delay=-1s":              "is not a time",
		"efa,mtu=x":                  "is not a number",
		"efa,bandwidth=fast":         "is not a speed",
		"efa,saw=yes":                "neither 0 nor 1",
		"efa,colour=red":             "there is no such word",
		"efa,drop-peer=x":            "host: ",
		"efa,drop-peer=1@x":          "is not a time",
		"efa,lose-nic=1":             "NIC: ",
		"efa,restore-nic=1/x":        "NIC: ",
		"tcp,lose-nic=0/1":           "there is no NIC 1, each host has 1 ",
		"tcp,nics=2,restore-nic=0/2": "there is no NIC 2, each host has 2 (use 0 to 1, or more nics)",
	} {
		if _, _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("efa,reorder=0.5,drop-peer=3@5ms")
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := Parse(text)
		if err != nil {
			return
		}
		if again, _, err := Parse(m.String()); err != nil || again.String() != m.String() {
			t.Errorf("%q is written as %q, which is read as %q, error %v", text, m, again, err)
		}
	})
}
