package device

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// known are the instructions that a rule may name. A misspelt one would match nothing, and a rule
// with none would always hold.
var known = []string{
	"activemask", "atom", "bar", "barrier", "bra", "call", "fence", "ld", "match", "membar", "nanosleep",
	"red", "shfl", "st", "trap", "vote",
}

// A set selects the instructions of a rule: any of these, none of those.
type set struct {
	text   string
	any    [][]string
	except [][]string
}

func (s set) has(in *instr) bool {
	if in.outside {
		return false
	}
	is := func(p []string) bool { return matchesOp(p, in.op) }
	return slices.ContainsFunc(s.any, is) && !slices.ContainsFunc(s.except, is)
}

// passed: a thread that reaches this point has executed one. One behind a predicate need not have
// been executed.
func (s set) passed(in *instr) bool { return s.has(in) && !in.predicate }

// matchesOp: the same first word, and the others behind it in this order.
func matchesOp(pattern, op []string) bool {
	if pattern[0] != op[0] {
		return false
	}
	rest := op[1:]
	for _, word := range pattern[1:] {
		i := slices.Index(rest, word)
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

var (
	capitals = regexp.MustCompile(`^[A-Z][A-Z_]*$`)
	words    = regexp.MustCompile(`^[a-z]+(\.[a-z0-9_]+)*$`)
)

func parseSet(text string, names map[string]set) (set, error) {
	s := set{text: text}
	any, except, cut := strings.Cut(text, " except ")
	for i, list := range []string{any, except} {
		if i == 1 && !cut {
			break
		}
		for _, item := range strings.Split(list, "|") {
			item = strings.TrimSpace(item)
			var patterns [][]string
			switch {
			case capitals.MatchString(item):
				named, ok := names[item]
				if !ok {
					return s, fmt.Errorf("read %q: no name %s (// PTX let %s = ...)", text, item, item)
				}
				if named.except != nil {
					return s, fmt.Errorf("read %q: %s has an except of its own (write it out)", text, item)
				}
				patterns = named.any
			case words.MatchString(item) && slices.Contains(known, strings.Split(item, ".")[0]):
				patterns = [][]string{strings.Split(item, ".")}
			default:
				return s, fmt.Errorf("read %q: %q is no instruction that rules speak of (%s)", text, item, strings.Join(known, ", "))
			}
			if i == 0 {
				s.any = append(s.any, patterns...)
			} else {
				s.except = append(s.except, patterns...)
			}
		}
	}
	return s, nil
}

// A rule checks one function; the error says which instruction breaks it.
type rule struct {
	text  string
	check func(f *function) error
}

var (
	form = regexp.MustCompile(`^(one|some|none|every|[0-9]+) (.+?)(?: (after|before) (.+)| between (.+) and (.+)| (in a loop))?$`)
	// part limits a rule to some of the paths.
	part = regexp.MustCompile(`^(.+?)(?: from (.+?))?(?: without (.+?))?$`)
)

// parseRule reads a rule, which is a statement about all paths, or about those
// that from and without leave.
func parseRule(text string, names map[string]set) (rule, error) {
	m := part.FindStringSubmatch(text)
	r, err := parseStatement(text, m[1], names)
	if err != nil || m[2]+m[3] == "" {
		return r, err
	}
	var cuts [2]set
	for i, text := range m[2:] {
		if text != "" {
			if cuts[i], err = parseSet(text, names); err != nil {
				return rule{}, err
			}
		}
	}
	whole := r.check
	r.check = func(f *function) error {
		g, err := f.narrow(cuts[0], cuts[1])
		if err != nil {
			return err
		}
		return whole(g)
	}
	return r, nil
}

// parseStatement reads the statement of a rule about paths; the whole rule is for messages.
func parseStatement(text, statement string, names map[string]set) (rule, error) {
	m := form.FindStringSubmatch(statement)
	if m == nil {
		return rule{}, fmt.Errorf("read rule %q: it has no form that is known (doc.go lists them)", text)
	}
	var sets [4]set
	for i, part := range []string{m[2], m[4], m[5], m[6]} {
		if part == "" {
			continue
		}
		s, err := parseSet(part, names)
		if err != nil {
			return rule{}, err
		}
		sets[i] = s
	}
	s, other, from, to := sets[0], sets[1], sets[2], sets[3]
	r := rule{text: text}
	switch quantity, relation := m[1], m[3]+m[7]; {
	case quantity == "none" && from.any != nil:
		r.check = func(f *function) error { return noneBetween(f, s, from, to) }
	case quantity == "none" && relation == "after":
		r.check = func(f *function) error { return noneAfter(f, s, other) }
	case quantity == "every" && relation == "after":
		r.check = func(f *function) error { return everyAfter(f, s, other) }
	case quantity == "every" && relation == "before":
		r.check = func(f *function) error { return everyBefore(f, s, other) }
	case quantity == "every" && relation == "in a loop":
		r.check = func(f *function) error { return everyInLoop(f, s) }
	case quantity != "every" && relation == "" && from.any == nil:
		r.check = func(f *function) error { return count(f, quantity, s) }
	default:
		return rule{}, fmt.Errorf("read rule %q: it has no form that is known (doc.go lists them)", text)
	}
	return r, nil
}

// find gives the indices of a set's instructions; there has to be one.
func (f *function) find(s set) ([]int, error) {
	var all []int
	for i := range f.body {
		if s.has(&f.body[i]) {
			all = append(all, i)
		}
	}
	if all == nil {
		return nil, fmt.Errorf("there is no %s", s.text)
	}
	return all, nil
}

func count(f *function, quantity string, s set) error {
	all, _ := f.find(s)
	switch quantity {
	case "none":
		if len(all) > 0 {
			return fmt.Errorf("there is %q", f.body[all[0]].text)
		}
	case "some":
		if len(all) == 0 {
			return fmt.Errorf("there is none")
		}
	case "one":
		if len(all) != 1 {
			return fmt.Errorf("there are %d", len(all))
		}
		if f.looped(all[0]) {
			return fmt.Errorf("%q is in a loop", f.body[all[0]].text)
		}
	default:
		if n, err := strconv.Atoi(quantity); err != nil || n != len(all) {
			return fmt.Errorf("there are %d", len(all))
		}
	}
	return nil
}

func noneAfter(f *function, s, other set) error {
	all, err := f.find(other)
	if err != nil {
		return err
	}
	for _, from := range all {
		for i, hit := range f.reach(f.body[from].next, func(*instr) bool { return false }) {
			if hit && i < len(f.body) && s.has(&f.body[i]) {
				return fmt.Errorf("%q comes after %q", f.body[i].text, f.body[from].text)
			}
		}
	}
	return nil
}

func noneBetween(f *function, s, from, to set) error {
	begins, err := f.find(from)
	if err != nil {
		return err
	}
	ends, err := f.find(to)
	if err != nil {
		return err
	}
	edge := func(in *instr) bool { return from.has(in) || to.has(in) }
	for _, begin := range begins {
		for i, hit := range f.reach(f.body[begin].next, edge) {
			if !hit || i == len(f.body) || edge(&f.body[i]) || !s.has(&f.body[i]) {
				continue
			}
			reached := f.reach(f.body[i].next, edge)
			for _, end := range ends {
				if reached[end] {
					return fmt.Errorf("%q is between %q and %q", f.body[i].text, f.body[begin].text, f.body[end].text)
				}
			}
		}
	}
	return nil
}

func everyAfter(f *function, s, other set) error {
	all, err := f.find(s)
	if err != nil {
		return err
	}
	if _, err := f.find(other); err != nil {
		return err
	}
	reached := f.reach(f.starts, other.passed)
	for _, i := range all {
		if reached[i] {
			return fmt.Errorf("%q is reached without %s", f.body[i].text, other.text)
		}
	}
	return nil
}

func everyBefore(f *function, s, other set) error {
	all, err := f.find(s)
	if err != nil {
		return err
	}
	for _, i := range all {
		if f.reach(f.body[i].next, other.passed)[len(f.body)] {
			return fmt.Errorf("after %q the end is reached without %s", f.body[i].text, other.text)
		}
	}
	return nil
}

func everyInLoop(f *function, s set) error {
	all, err := f.find(s)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !f.looped(i) {
			return fmt.Errorf("%q is in no loop", f.body[i].text)
		}
	}
	return nil
}
