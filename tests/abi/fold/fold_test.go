package fold

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", ""},
		{"# a comment\n\nplain\n", "plain"},
		{"[p]get[_nbi]\n", "get get_nbi pget pget_nbi"},
		{"b_{set,clear}_a\n", "b_clear_a b_set_a"},
		{"real = float double\nall = <real> int{8,16}\n<all>_g\n", "double_g float_g int16_g int8_g"},
		{"t = b a\n<t><t>\n", "aa ab ba bb"},
	} {
		names, err := Expand(c.list)
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%q is %q, %v; want %q", c.list, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for list, want := range map[string]string{
		"a\n[b]a\n":           "line 2: a: line 1 has it",
		"t = a a\n<t>\n":      "line 2: a: line 2 has it",
		"<t>_put\n":           "line 1: <t>_put: set t: no line above defines it",
		"t = <t> a\n<t>\n":    "line 1: <t>: set t: no line above defines it",
		"t = a\nt = b\n<t>\n": "line 2: set t: a line above defines it",
		"t = a\nput\n":        "set t: no line uses it",
		"put[_nbi\n":          `line 1: put[_nbi: "[_nbi" does not begin a choice`,
		"put_nbi]\n":          `line 1: put_nbi]: "]" does not begin a choice`,
		"put[_{a,b}]\n":       `line 1: put[_{a,b}]: "[_{a,b}]" does not begin a choice`,
		"put<>\n":             `line 1: put<>: "<>" does not begin a choice`,
		"put get\n":           `line 1: put get: " get" does not begin a choice`,
	} {
		if names, err := Expand(list); err == nil || err.Error() != want {
			t.Errorf("%q is %q, %v; want %s", list, names, err, want)
		}
	}
}
