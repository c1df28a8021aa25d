package device

import (
	"slices"
	"strings"
	"testing"
)

// A mutation makes one kind of mistake in an instruction, or reports that it does not apply.
type mutation struct {
	name  string
	apply func(op []string) ([]string, bool)
}

func swap(from, to string, instructions ...string) mutation {
	return mutation{from + " becomes " + to, func(op []string) ([]string, bool) {
		i := slices.Index(op, from)
		if i < 0 || !slices.ContainsFunc(instructions, func(p string) bool { return matchesOp(strings.Split(p, "."), op) }) {
			return nil, false
		}
		out := slices.Clone(op)
		out[i] = to
		return out, true
	}}
}

func lose(name string, instructions ...string) mutation {
	return mutation{name, func(op []string) ([]string, bool) {
		return []string{"nop"}, slices.ContainsFunc(instructions, func(p string) bool { return matchesOp(strings.Split(p, "."), op) })
	}}
}

const (
	slot = "st.relaxed.sys.v2"
	head = "atom.relaxed.gpu.add"
)

// strict are mistakes that the rules of every kernel that can have them must notice, in each copy
// of a step that the compiler makes: they concern the order of slots, and the exchanges among the
// lanes of a warp.
var strict = []mutation{
	lose("a fence is lost", "fence", "membar"),
	lose("a slot is lost", slot),
	{"a fence comes last", func(op []string) ([]string, bool) { return []string{"fence", "acq_rel", "sys"}, op[0] == "ret" }},
	swap("sys", "gpu", "fence", "membar", slot),
	swap("relaxed", "release", slot),
	swap("relaxed", "weak", slot),
	lose("the head is not added to", head),
	swap("gpu", "cta", head),
	swap("gpu", "sys", head),
	swap("relaxed", "acq_rel", head),
	lose("lost", "match.all", "shfl"),
}

// alone is the kernel that only waits for room, as the others do in part. Its rules must notice
// each shared mistake, too.
const alone = "back_pressure"

// shared are mistakes in a step that several kernels have: if all make it, the rules of one must
// notice.
var shared = []mutation{
	lose("lost", "atom", "bar", "barrier", "ld.acquire", "ld.relaxed", "match", "red", "shfl", "st.relaxed", "st.release"),
	swap("sys", "gpu", "ld"),
	swap("gpu", "cta", "ld", "st", "atom", "red"),
	swap("relaxed", "weak", "ld", "st"),
	swap("relaxed", "release", "st"),
	swap("acquire", "relaxed", "ld", "atom"),
	swap("release", "relaxed", "red", "st"),
	swap("relaxed", "acq_rel", "atom"),
}

// mutants returns the function with the mistake in one instruction at a time.
func (f function) mutants(m mutation) (all []function, where []string) {
	for i := range f.body {
		op, ok := m.apply(f.body[i].op)
		if !ok {
			continue
		}
		g := f
		g.body = slices.Clone(f.body)
		g.body[i].op = op
		all, where = append(all, g), append(where, f.body[i].text)
	}
	return all, where
}

// TestMistakesAreNoticed makes mistakes in the PTX of the kernels. Rules that miss one there would
// miss it in the header, too.
func TestMistakesAreNoticed(t *testing.T) {
	noticed := map[string]bool{} // of shared mistakes, with the instruction's words
	seen := false                // the kernel that must notice them all
	for file, archs := range compiled(t) {
		functions, err := parsePTX(archs["sm_90"])
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range sourceOf(t, file) {
			if broken := k.check(functions[k.name]); broken != nil {
				t.Errorf("%s: %s: the rules do not hold as it is, so that they tell nothing of mistakes", file, k.name)
				continue
			}
			seen = seen || k.name == alone
			for _, m := range strict {
				all, where := functions[k.name].mutants(m)
				for i := range all {
					if k.check(all[i]) == nil {
						t.Errorf("%s: %s: no rule notices that %s, in %q", file, k.name, m.name, where[i])
					}
				}
			}
			for _, m := range shared {
				all, where := functions[k.name].mutants(m)
				for i := range all {
					op, _, _ := strings.Cut(where[i], " ")
					key := m.name + " in " + op
					ok := k.check(all[i]) != nil
					if k.name == alone && !ok {
						t.Errorf("%s: %s: no rule notices: %s in %q", file, k.name, m.name, where[i])
					}
					noticed[key] = noticed[key] || ok
				}
			}
		}
	}
	if !seen {
		t.Errorf("there is no kernel %s", alone)
	}
	if len(noticed) < len(shared) {
		t.Errorf("only %d kinds of mistake could be made", len(noticed))
	}
	for key, ok := range noticed {
		if !ok {
			t.Errorf("no rule of any kernel notices: %s", key)
		}
	}
}
