package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/mutate"
)

func TestHosts(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"a", "a"},
		{"a,b", "a b"},
		{"n[1-3]", "n1 n2 n3"},
		{"n[01-03,7],m[1-2]x", "n01 n02 n03 n7 m1x m2x"},
		{"n[9-11]", "n9 n10 n11"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"n[08-101]", "n08 n09 n10 " + many("n", 11, 101)},
		{"rack[0-1]node[3,5].site.org", "rack0node3.site.org rack0node5.site.org rack1node3.site.org rack1node5.site.org"},
		{"[1-2]", "1 2"},
		{"n[5-5]", "n5"},
		{"gpu-node_7.a,10.0.0.1", "gpu-node_7.a 10.0.0.1"},
	} {
		got, err := hosts(c.list)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v, not %s", c.list, got, err, c.want)
		}
	}
}

func many(name string, first, last int) string {
	var all []string
	for n := first; n <= last; n++ {
		all = append(all, fmt.Sprint(name, n))
	}
	return strings.Join(all, " ")
}

func TestHostsRefused(t *testing.T) {
	const numbers = "a number of at most 18 digits"
	for _, c := range []struct{ list, want string }{
		{"", `"", byte 0: the end, expected the name of a host`},
		{"a,", "byte 2: the end, expected the name of a host"},
		{",a", `byte 0: ",", expected the name of a host`},
		{"a b", `byte 1: " ", expected a letter, a digit`},
		{"n[1-3", `byte 5: the end, expected a digit, "," or "]"`},
		{"n[1-3]]", `byte 6: "]", expected a letter, a digit`},
		{"n[]", `byte 2: "]", expected a digit`},
		{"n[1,]", `byte 4: "]", expected a digit`},
		{"n[1-]", `byte 4: "]", expected a digit`},
		{"n[-3]", `byte 2: "-", expected a digit`},
		{"n[a]", `byte 2: "a", expected a digit`},
		{"n[000x111]", `byte 5: "x", expected a digit, "," or "]"`},
		{"n[1-3-5]", `byte 5: "-", expected a digit, "," or "]"`},
		{"n[3-1]", `byte 4: "1", expected a number not below 3`},
		{"n[0-99999999]", `byte 4: "9", expected at most 65536 hosts`},
		{"n[0-999][0-999]", `byte 11: "9", expected at most 65536 hosts`},
		{"n[0-60000],m[0-60000]", "the end, expected at most 65536 hosts"},
		{"n[1234567890123456789]", `byte 2: "1", expected ` + numbers},
		{"n[99999999999999999999999]", `byte 2: "9", expected ` + numbers},
		{"(null)", `byte 0: "(", expected the name of a host`},
		{"n\n", `byte 1: "\n", expected a letter`},
		{"n\xff", `byte 1: "\xff", expected a letter`},
		{strings.Repeat("n", 100) + "!", `n...", byte 100: "!", expected a letter`},
	} {
		if got, err := hosts(c.list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, not %q", c.list, got, err, c.want)
		}
	}
}

// FuzzHosts: whatever the text is, it is refused, or is a list that says the same when it is
// written out.
func FuzzHosts(f *testing.F) {
	for _, list := range []string{"a", "n[01-03,7],m[1-2]x", "r[0-1]n[3,5].org", "[1-2]", "n[3-1]", "n[", "a,,b", "n[0-99999999]"} {
		f.Add(list)
	}
	f.Fuzz(hostsChanged)
}

func hostsChanged(t *testing.T, list string) {
	all, err := hosts(list)
	if err != nil {
		if len(all) > 0 {
			t.Errorf("%q: %v beside %v", list, all, err)
		}
		return
	}
	if len(all) == 0 || len(all) > maxHosts {
		t.Fatalf("%q has %d hosts", list, len(all))
	}
	again, err := hosts(strings.Join(all, ","))
	if err != nil || !slices.Equal(all, again) {
		t.Errorf("%q: %v became %v, %v", list, all, again, err)
	}
}

// TestMutations is FuzzHosts for changed lists, and FuzzOpen for changed openings.
func TestMutations(t *testing.T) {
	mutate.Each(t, [][]byte{[]byte("n[01-03,7],m[1-2]x"), []byte("r[0-1]n[3,5].org,a")}, func(in []byte) { hostsChanged(t, string(in)) })
	mutate.Each(t, openings(), func(in []byte) { openChanged(t, in) })
}
