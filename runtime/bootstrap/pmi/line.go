package pmi

import (
	"errors"
	"fmt"
	"strings"
)

// errFormat is the error for a line that is no reply of PMI-1.
var errFormat = errors.New("malformed PMI reply")

// reply is a line of the server.
type reply struct {
	cmd    string
	fields map[string]string
}

// parse reads a line without its newline: words NAME=VALUE in any order, one of which is
// cmd. A word without = continues the value before it, because some servers explain a
// failure in several words.
func parse(line string) (reply, error) {
	r := reply{fields: map[string]string{}}
	last := ""
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok && last == "":
			return reply{}, fmt.Errorf("%w: %s does not begin with NAME=VALUE", errFormat, show(line))
		case !ok:
			r.fields[last] += " " + word
			continue
		case name == "":
			return reply{}, fmt.Errorf("%w: %s has a value without a name", errFormat, show(line))
		}
		if _, twice := r.fields[name]; twice {
			return reply{}, fmt.Errorf("%w: %s has two values of %s", errFormat, show(line), show(name))
		}
		r.fields[name] = value
		last = name
	}
	r.cmd = r.fields["cmd"]
	if r.cmd == "" {
		return reply{}, fmt.Errorf("%w: %s has no cmd=", errFormat, show(line))
	}
	return r, nil
}

// failed returns the error in the server's reply, or "". Hydra replies with rc=-1 where Slurm has
// rc=1, and Slurm's replies about names have info= and no rc.
func (r reply) failed() string {
	rc, hasRC := r.fields["rc"]
	info, hasInfo := r.fields["info"]
	switch {
	case hasRC && rc != "0":
		if msg := r.fields["msg"]; msg != "" {
			return show(msg)
		}
		return "rc=" + show(rc)
	case hasInfo && info != "ok":
		return "info=" + show(info)
	}
	return ""
}

// show quotes and shortens text of the server for an error.
func show(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// command returns the line of a command. The names and values come from this package or
// the server, and have no blanks.
func command(cmd string, fields ...string) string {
	var b strings.Builder
	b.WriteString("cmd=" + cmd)
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteString(" " + fields[i] + "=" + fields[i+1])
	}
	b.WriteByte('\n')
	return b.String()
}
