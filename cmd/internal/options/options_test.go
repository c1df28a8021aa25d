package options

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--between=abc", "--between abc: not a number"},
		{"--between=", `--between "": not a number`},
		{"--between=1 s", `--between "1 s": not a number`},
		{"--between=1e999", "--between 1e999: too large"},
		{"--pes=2.5", "-n 2.5: not a whole number"},
		{"-n2\n", `-n "2\n": not a whole number`},
		{"-n99999999999999999999", "-n 99999999999999999999: too large"},
		{"--tag=perhaps", "--tag perhaps: neither true nor false"},
		{"-n", "option -n needs a value"},
		{"--between", "option --between needs a value"},
		{"--none", "unknown option --none"},
		{"-q", "unknown option -q"},
		{"--=1", "unknown option --=1"},
	} {
		fs := pflag.NewFlagSet("program", pflag.ContinueOnError)
		fs.Usage = func() {}
		fs.IntP("pes", "n", 0, "")
		fs.Float64("between", 0, "")
		fs.Bool("tag", false, "")
		if err := Explain(fs.Parse([]string{c.arg})); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.arg, err, c.want)
		}
	}
	if err := Explain(pflag.ErrHelp); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}
