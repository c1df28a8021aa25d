package device

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An instr is one instruction of a function, with the next instructions of a thread.
type instr struct {
	op        []string // its words: st relaxed sys global v2 u64
	predicate bool     // runs only when a predicate says so
	args      string
	text      string
	scope     []map[string]int // labels that it can name, the innermost last
	next      []int            // indices of instructions; len(body) is the end
	outside   bool             // on no path that the rule is about
}

// A function is the instructions of one entry, in the order of the text.
type function struct {
	name   string
	body   []instr
	starts []int // where its paths begin
}

var (
	lineComment  = regexp.MustCompile(`//[^\n]*`)
	blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	header       = regexp.MustCompile(`\.entry\s+([\w$]+)\s*\(`)
	labelled     = regexp.MustCompile(`^([\w$%]+)\s*:`)
	guarded      = regexp.MustCompile(`^@!?[\w%$]+\s+`)
	called       = regexp.MustCompile(`\d(shmemi_[a-z_]+)`) // within a mangled name
)

// parsePTX finds the kernels of a PTX text.
func parsePTX(text string) (map[string]function, error) {
	text = blockComment.ReplaceAllString(lineComment.ReplaceAllString(text, ""), "")
	all := map[string]function{}
	for _, at := range header.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		f, err := parseFunction(name, text[at[1]:])
		if err != nil {
			return nil, fmt.Errorf("parse PTX of %s: %w", name, err)
		}
		all[name] = f
	}
	return all, nil
}

// parseFunction reads the text behind the parenthesis of a kernel's parameters.
func parseFunction(name, text string) (function, error) {
	f := function{name: name, starts: []int{0}}
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return f, fmt.Errorf("no body")
	}
	text = text[open+1:]
	// A block in braces has labels of its own: inline assembly makes them.
	scope := []map[string]int{{}}
	tables := map[string][]string{} // of indirect branches
	for {
		text = strings.TrimLeft(text, " \t\r\n;")
		if text == "" {
			return f, fmt.Errorf("the body does not end")
		}
		switch {
		case text[0] == '{':
			scope = append(scope[:len(scope):len(scope)], map[string]int{})
			text = text[1:]
			continue
		case text[0] == '}':
			if len(scope) == 1 {
				return f, f.link(tables)
			}
			scope, text = scope[:len(scope)-1], text[1:]
			continue
		}
		label := ""
		if m := labelled.FindStringSubmatch(text); m != nil {
			label, text = m[1], strings.TrimLeft(text[len(m[0]):], " \t\r\n")
			inner := scope[len(scope)-1]
			if _, again := inner[label]; again {
				return f, fmt.Errorf("label %s: stands there twice", label)
			}
			inner[label] = len(f.body)
			if !strings.HasPrefix(text, ".branchtargets") {
				continue
			}
		}
		statement, rest, ok := strings.Cut(text, ";")
		if !ok {
			return f, fmt.Errorf("statement %q: has no end", text)
		}
		text = rest
		if list, ok := strings.CutPrefix(statement, ".branchtargets"); ok {
			for _, target := range strings.Split(list, ",") {
				tables[label] = append(tables[label], strings.TrimSpace(target))
			}
			continue
		}
		if statement[0] == '.' {
			continue
		}
		f.body = append(f.body, parseInstr(statement, scope))
	}
}

func parseInstr(statement string, scope []map[string]int) instr {
	in := instr{text: strings.Join(strings.Fields(statement), " "), scope: scope}
	rest := in.text
	if guard := guarded.FindString(rest); guard != "" {
		in.predicate, rest = true, rest[len(guard):]
	}
	op, args, _ := strings.Cut(rest, " ")
	in.op, in.args = strings.Split(op, "."), args
	// A function of the header that is not inlined is a step with its own name.
	if m := called.FindStringSubmatch(args); m != nil && in.op[0] == "call" {
		in.op = []string{"call", m[1]}
	}
	return in
}

// link finds the successors of each instruction. A call leaves the text, so it is refused, except
// for the functions that the header keeps out of line on purpose: rules name them. shmemi_fault
// does not return.
func (f *function) link(tables map[string][]string) error {
	for i := range f.body {
		in := &f.body[i]
		through := in.predicate
		switch in.op[0] {
		case "bra":
			to, err := in.resolve(in.args)
			if err != nil {
				return err
			}
			in.next = append(in.next, to)
		case "brx":
			args := strings.Split(in.args, ",")
			table := tables[strings.TrimSpace(args[len(args)-1])]
			if len(table) == 0 {
				return fmt.Errorf("instruction %q: its branch targets are not known", in.text)
			}
			for _, label := range table {
				to, err := in.resolve(label)
				if err != nil {
					return err
				}
				in.next = append(in.next, to)
			}
		case "ret", "exit":
			in.next = append(in.next, len(f.body))
		case "trap":
			// A thread that traps ends the whole grid: no path continues.
		case "call":
			if len(in.op) == 2 && in.op[1] == "shmemi_fault" {
				break
			}
			if len(in.op) == 2 && strings.HasPrefix(in.op[1], "shmemi_") {
				through = true
				break
			}
			return fmt.Errorf("instruction %q: what is called cannot be judged (let it be inlined)", in.text)
		default:
			through = true
		}
		if through {
			in.next = append(in.next, i+1)
		}
	}
	return nil
}

func (in *instr) resolve(label string) (int, error) {
	for i := len(in.scope) - 1; i >= 0; i-- {
		if to, ok := in.scope[i][label]; ok {
			return to, nil
		}
	}
	return 0, fmt.Errorf("instruction %q: there is no label %s", in.text, label)
}

// reach returns the instructions that paths from the given places reach. A path ends after an
// instruction for which stop is true; that one is reached.
func (f *function) reach(from []int, stop func(*instr) bool) []bool {
	seen := make([]bool, len(f.body)+1)
	todo := append([]int(nil), from...)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if i < len(f.body) && !stop(&f.body[i]) {
			todo = append(todo, f.body[i].next...)
		}
	}
	return seen
}

// looped: a thread can return to this instruction.
func (f *function) looped(i int) bool {
	return f.reach(f.body[i].next, func(*instr) bool { return false })[i]
}

// narrow returns the function with only those of its paths that begin after one of from, unless
// from is empty, and then carry out none of without. The instructions that begin or end a path must
// be in the function.
func (f *function) narrow(from, without set) (*function, error) {
	g := *f
	if from.any != nil {
		all, err := f.find(from)
		if err != nil {
			return nil, err
		}
		g.starts = nil
		for _, i := range all {
			g.starts = append(g.starts, f.body[i].next...)
		}
	}
	g.body = slices.Clone(f.body)
	if without.any != nil {
		if _, err := f.find(without); err != nil {
			return nil, err
		}
		for i := range g.body {
			if without.passed(&g.body[i]) {
				g.body[i].next, g.body[i].outside = nil, true
			}
		}
	}
	reached := g.reach(g.starts, func(*instr) bool { return false })
	for i := range g.body {
		g.body[i].outside = g.body[i].outside || !reached[i]
	}
	return &g, nil
}
