package hostlist

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseFile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Host
	}{
		{"names alone", "a\nb\n", []Host{{"a", 0}, {"b", 0}}},
		{"comments, blanks and an end without a newline", "# all\n\n  a # first\n\tb", []Host{{"a", 0}, {"b", 0}}},
		{"Open MPI's slots", "a slots=4\nb slots=2 max_slots=8\nc max-slots=3\n", []Host{{"a", 4}, {"b", 2}, {"c", 0}}},
		{"MPICH's slots", "a:4\nb:12\r\n", []Host{{"a", 4}, {"b", 12}}},
		{"a line for each slot, as of PBS", "a\na\nb\na\n", []Host{{"a", 3}, {"b", 0}}},
		{"slots of several lines", "a slots=2\na:3\n", []Host{{"a", 5}}},
		{"users and addresses", "me@a:2\n10.0.0.1:3\nfd00::1\n[fd00::2]:4\nu@[fe80::1%eth0] slots=2\n",
			[]Host{{"me@a", 2}, {"10.0.0.1", 3}, {"fd00::1", 0}, {"fd00::2", 4}, {"u@fe80::1%eth0", 2}}},
	} {
		if got, err := ParseFile("F", c.text); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, error %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestParseFileRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "read F: it names no host"},
		{"# a\n", "it names no host"},
		{"a\nb slots=x\n", `read F, line 2: slots=x: "x" is not a number of slots from 1 to 4096`},
		{"a slots=0\n", `"0" is not a number of slots`},
		{"a:5000\n", `"5000" is not a number`},
		{"a:\n", `"" is not a number`},
		{"a:2 slots=3\n", `"slots=3" and another number of slots`},
		{"a slots=9 max_slots=8\n", "9 slots are more than its limit of 8"},
		{"a user=me\n", `"user=me" has no meaning here`},
		{"-oProxyCommand=x\n", "a name does not begin with -"},
		{"u@-x\n", "a name does not begin with -"},
		{"-u@x\n", "a name does not begin with -"},
		{"a;b\n", `';' cannot be in a name`},
		{"@a\n", "there is no name"},
		{"[fd00::1\n", "is not an address in brackets"},
		{"[a]:2\n", "is not an address in brackets"},
		{"[fd00::1]2\n", `"2" follows the brackets`},
	} {
		got, err := ParseFile("F", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), fileForm) {
			t.Errorf("%q: %v, error %v, want %s", c.text, got, err, c.want)
		}
	}
}

func TestParseList(t *testing.T) {
	got, err := ParseList("a:4,u@b,[fd00::1]:2,a")
	if want := []Host{{"a", 5}, {"u@b", 0}, {"fd00::1", 2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	for _, s := range []string{"", "a,", "a:x", "a b", "-v"} {
		if got, err := ParseList(s); err == nil || !strings.HasPrefix(err.Error(), "--host "+s+": ") {
			t.Errorf("%q: %v, error %v", s, got, err)
		}
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct {
		hosts  string
		n      int
		cyclic bool
		want   []int
	}{
		{"a,b", 2, false, []int{1, 1}},
		{"a,b,c", 8, false, []int{3, 3, 2}},
		{"a,b", 1, false, []int{1, 0}},
		{"a:4,b:4", 6, false, []int{4, 2}},
		{"a:4,b:4", 6, true, []int{3, 3}},
		{"a:4,b:4", 3, false, []int{3, 0}},
		{"a:1,b:5", 5, true, []int{1, 4}},
		{"a:2,b", 3, false, []int{2, 1}},
	} {
		hosts, err := ParseList(c.hosts)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Fill(hosts, c.n, c.cyclic); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%d PEs over %s, cyclic %v: %v, error %v, want %v", c.n, c.hosts, c.cyclic, got, err, c.want)
		}
	}
	hosts := []Host{{"a", 2}, {"b", 0}}
	if got, err := Fill(hosts, 4, false); err == nil || !strings.Contains(err.Error(), "-n 4: the hosts have 3 slots") {
		t.Errorf("too many: %v, error %v", got, err)
	}
	if got, err := Fill(hosts, 0, false); err == nil {
		t.Errorf("no PEs: %v", got)
	}
}

// FuzzParseFile: a file that is taken names hosts that ssh takes for nothing else, and written out
// again it says the same.
func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"a slots=4\nb:2\n", "u@[fd00::1]:3 max_slots=3 # x\n", "fe80::1%eth0\n\n", "a\na\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ParseFile("F", text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, h := range hosts {
			if strings.HasPrefix(h.Name, "-") || strings.ContainsAny(h.Name, " \t\n'\"\\$`;&|<>()\x00") {
				t.Fatalf("%q names the host %q", text, h.Name)
			}
			again.WriteString(h.Name)
			if h.Slots > 0 {
				fmt.Fprintf(&again, " slots=%d", min(h.Slots, MaxOfHost))
			}
			again.WriteString("\n")
		}
		if got, err := ParseFile("F", again.String()); err != nil || len(got) != len(hosts) {
			t.Fatalf("%q, written as %q: %v, error %v", text, again.String(), got, err)
		}
		sizes, err := Fill(hosts, Total(hosts), true)
		sum := 0
		for _, n := range sizes {
			sum += n
		}
		if err != nil || sum != Total(hosts) {
			t.Fatalf("%q: %d PEs on hosts as %v, error %v", text, Total(hosts), sizes, err)
		}
	})
}
