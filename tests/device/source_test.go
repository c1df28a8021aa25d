package device

import (
	"fmt"
	"regexp"
	"strings"
)

// A kernel is a function of a .cu file with the rules in its comments.
type kernel struct {
	name  string
	line  int
	rules []rule
}

var (
	comment    = regexp.MustCompile(`^\s*// PTX(.*)$`)
	definition = regexp.MustCompile(`^ let (\S+) = (.+)$`)
	global     = regexp.MustCompile(`__global__.*?\b(\w+)\(`)
)

// parseSource finds the kernels of a file. One without a rule is an error, and
// so is a rule without a kernel.
func parseSource(text string) ([]kernel, error) {
	var all []kernel
	names := map[string]set{}
	var pending []rule
	for i, line := range strings.Split(text, "\n") {
		fail := func(err error) error { return fmt.Errorf("line %d: %w", i+1, err) }
		if m := comment.FindStringSubmatch(line); m != nil {
			if def := definition.FindStringSubmatch(m[1]); def != nil {
				if _, again := names[def[1]]; again || !capitals.MatchString(def[1]) {
					return nil, fail(fmt.Errorf("name %s: defined twice, or not in capitals", def[1]))
				}
				s, err := parseSet(def[2], names)
				if err != nil {
					return nil, fail(err)
				}
				s.text = def[1]
				names[def[1]] = s
				continue
			}
			rest, ok := strings.CutPrefix(m[1], ": ")
			if !ok {
				return nil, fail(fmt.Errorf("read %q: neither a rule (// PTX: ...) nor a name (// PTX let NAME = ...)", line))
			}
			r, err := parseRule(rest, names)
			if err != nil {
				return nil, fail(err)
			}
			pending = append(pending, r)
			continue
		}
		m := global.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if pending == nil {
			return nil, fail(fmt.Errorf("kernel %s: no rule says what it has to look like", m[1]))
		}
		if !strings.Contains(line, `extern "C"`) {
			return nil, fail(fmt.Errorf("kernel %s: is not extern \"C\", so its name in the PTX is another", m[1]))
		}
		all = append(all, kernel{name: m[1], line: i + 1, rules: pending})
		pending = nil
	}
	if pending != nil {
		return nil, fmt.Errorf("rule %q: no kernel follows", pending[0].text)
	}
	return all, nil
}

// check gives one line for each rule that a function breaks.
func (k kernel) check(f function) []string {
	var broken []string
	for _, r := range k.rules {
		if err := r.check(&f); err != nil {
			broken = append(broken, fmt.Sprintf("%s: %s: %v", k.name, r.text, err))
		}
	}
	return broken
}

// memory shows the part of a function that explains a failure.
func (f function) memory() string {
	var b strings.Builder
	for i := range f.body {
		in := &f.body[i]
		switch in.op[0] {
		case "atom", "bar", "barrier", "fence", "membar", "red", "trap":
		case "ld", "st":
			if in.op[1] == "param" {
				continue
			}
		default:
			continue
		}
		mark := "  "
		if f.looped(i) {
			mark = "@ " // in a loop
		}
		fmt.Fprintf(&b, "    %s%s\n", mark, in.text)
	}
	return b.String()
}
