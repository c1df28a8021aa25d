package stub

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// offers are the rows that are attributes of an info. The value is that of the row, unless how
// says how it follows from rows.
var offers = []struct {
	rule, mode, env string
	attributes      []string
	how             func(rows map[string]rule) string
	// follow are attributes that change with these. tx and rx have caps and modes of their own,
	// which follow those of the info.
	follow []string
}{
	{"G1a", "offered", "", []string{"caps"}, nil, capsFollow},
	{"G1b", "offered", "", []string{"caps"}, nil, capsFollow},
	{"G2a", "offered", "", []string{"mode"}, nil, modeFollows},
	{"G2b", "offered", "", []string{"mode"}, nil, modeFollows},
	{"G3a", "offered", "", []string{"mr_mode"}, nil, nil},
	{"G3b", "offered", "", []string{"mr_mode"}, nil, nil},
	{"G4a", "offered", "", []string{"max_msg_size"}, nil, nil},
	{"G4b", "offered", "", []string{"max_msg_size"}, nil, nil},
	// The answer is "the MTU".
	{"G4c", "messages", "", []string{"max_msg_size"}, of("G4e"), nil},
	{"G4e", "offered", "", []string{"MTU"}, nil, nil},
	{"G5a", "offered", "", []string{"tx inject_size"}, nil, nil},
	// The answer is "MTU - header".
	{"G5b", "offered", noShm, []string{"tx inject_size"}, less("G4e", "G5g"), nil},
	{"G5g", "offered", noShm, []string{"tx inject_size"}, less("G4e", "G5g"), nil},
	{"G5c", "offered", "", []string{"tx inject_size"}, nil, nil},
	{"G6a", "offered", "", []string{"tx iov_limit", "rx iov_limit"}, nil, nil},
	{"G6c", "offered", "", []string{"tx iov_limit", "rx iov_limit"}, nil, nil},
	{"G6d", "offered", "", []string{"tx rma_iov_limit"}, nil, nil},
	{"G7", "offered", "", []string{"cq_data_size"}, nil, nil},
	{"G8a", "offered", "", []string{"tx size"}, nil, nil},
	{"G8b", "offered", "", []string{"rx size"}, nil, nil},
	{"G9", "offered", "", []string{"threading"}, nil, nil},
	{"G10a", "offered", "", []string{"control progress", "data progress"}, nil, nil},
	{"G10b", "offered", "", []string{"control progress", "data progress"}, nil, nil},
	{"G10c", "offered", "", []string{"control progress", "data progress"}, nil, nil},
	{"G11a", "offered", "", []string{"resource_mgmt"}, nil, nil},
	{"G12a", "usual", "", []string{"av_type"}, nil, nil},
	{"G12f", "map", "", []string{"av_type"}, nil, nil},
	{"G13a", "offered", "", []string{"address format"}, nil, nil},
	{"G13b", "offered", "", []string{"address length"}, nil, nil},
	{"G14a", "offered", "", []string{"protocol"}, nil, nil},
	{"G14b", "offered", "", []string{"protocol version"}, nil, nil},
	{"G14c", "offered", "", []string{"protocol version"}, nil, nil},
	{"G15", "offered", "", []string{"tx op_flags"}, nil, nil},
	// The figures of a device are the stub's own: no source has them.
	{"G16", "offered", "", []string{"cq_cnt", "ep_cnt"}, is("256"), []string{"mr_cnt"}},
	{"G16", "offered", "", []string{"mr_cnt"}, is("4096"), []string{"cq_cnt", "ep_cnt"}},
	{"G17", "offered", "", []string{"provider name"}, is("efa"), nil},
	{"G30", "offered", "", []string{"caps"}, nil, capsFollow},
	{"G31a", "offered", "", []string{"mr_mode"}, nil, nil},
	{"G31b", "second", "", []string{"mr_mode"}, nil, nil},
	{"G32", "offered", "", []string{"mr_key_size"}, nil, nil},
	{"G33", "offered", "", []string{"max_msg_size"}, nil, nil},
	{"G34", "offered", "", []string{"cq_data_size"}, nil, nil},
	{"G35a", "offered", "", []string{"max_order_waw_size"}, nil, nil},
	{"G35b", "offered", "", []string{"max_order_raw_size", "max_order_war_size"}, nil, nil},
	{"G35c", "offered", "", []string{"max_order_raw_size", "max_order_war_size"}, nil, nil},
	{"G36", "offered", "", []string{"tx iov_limit", "rx iov_limit", "tx rma_iov_limit"}, nil, nil},
	{"G37a", "offered", "", []string{"tx size"}, nil, nil},
	{"G37b", "usual", "", []string{"tx size", "rx size"}, nil, nil},
	{"G37c", "usual", "", []string{"tx size", "rx size"}, nil, nil},
	{"G37d", "offered", "", []string{"rx size"}, nil, nil},
	{"G39", "offered", "", []string{"av_type"}, nil, nil},
	{"G40", "offered", "", []string{"threading"}, nil, nil},
	{"G41", "offered", "", []string{"control progress", "data progress"}, nil, nil},
	{"G42", "offered", "", []string{"resource_mgmt"}, nil, nil},
	{"G43a", "offered", "", []string{"address format"}, nil, nil},
	{"G43b", "offered", "", []string{"address length"}, nil, nil},
	{"G44a", "offered", "", []string{"protocol"}, nil, nil},
	{"G44b", "offered", "", []string{"protocol version"}, nil, nil},
	{"G45", "offered", "", []string{"tx op_flags"}, nil, nil},
	{"G46", "offered", "", []string{"mode"}, nil, modeFollows},
	{"G47a", "offered", "", []string{"cq_cnt"}, nil, nil},
	{"G47b", "offered", "", []string{"ep_cnt"}, nil, nil},
	{"G47c", "offered", "", []string{"mr_cnt"}, nil, nil},
	// The answer is "as asked", which is this.
	{"G49", "order", "", []string{"tx order"}, is("FI_ORDER_SAS"), nil},
	{"G60", "offered", "", []string{"tx order", "rx order"}, nil, nil},
	{"G61", "offered", "", []string{"tx inject_size"}, nil, nil},
	{"G62", "offered", "", []string{"cq_data_size"}, nil, nil},
	{"G64", "offered", "", []string{"mr_mode"}, nil, nil},
	{"G65", "offered", "", []string{"mode"}, nil, modeFollows},
	{"G66", "usual", "", []string{"tx size"}, nil, nil},
	{"G67", "offered", "", []string{"protocol"}, nil, nil},
	{"G68b", "atomics", "", []string{"tx order", "rx order"}, among("G60", "G68b"), nil},
	{"G68c", "atomics", "", []string{"max_order_raw_size", "max_order_war_size", "max_order_waw_size"}, nil, nil},
	{"G69a", "offered", "", []string{"control progress"}, nil, nil},
	{"G69b", "usual", "", []string{"data progress"}, nil, nil},
	{"G70", "offered", "", []string{"caps"}, nil, capsFollow},
}

// cleared are the rows by which caps that their text names are not in an info. Each of them is
// there where the row is switched off.
var cleared = []struct{ rule, mode string }{
	{"G1e", "no caps"},
	{"G48a", "usual"},
	{"G48b", "usual"},
	{"G68a", "no caps"},
}

const noShm = "FI_EFA_ENABLE_SHM_TRANSFER=0"

var (
	capsFollow  = []string{"tx caps", "rx caps"}
	modeFollows = []string{"tx mode", "rx mode"}
)

func is(value string) func(map[string]rule) string {
	return func(map[string]rule) string { return value }
}

func of(id string) func(map[string]rule) string {
	return func(rows map[string]rule) string { return rows[id].value() }
}

func less(whole, part string) func(map[string]rule) string {
	return func(rows map[string]rule) string {
		a, _ := strconv.Atoi(rows[whole].value()) // 0 is no row's value here
		b, _ := strconv.Atoi(rows[part].value())
		return strconv.Itoa(a - b)
	}
}

// among lists the flags of one row without those of another.
func among(all, but string) func(map[string]rule) string {
	return func(rows map[string]rule) string {
		not := strings.Split(rows[but].value(), ",")
		return strings.Join(slices.DeleteFunc(strings.Split(rows[all].value(), ","), func(f string) bool { return slices.Contains(not, f) }), ",")
	}
}

// printed has the program print the attributes of an info, by their names.
func printed(t *testing.T, program, mode, fabric, settings, env string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(answered(t, program, mode, fabric, settings, env)) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndex(line, " ")
		if at < 0 {
			t.Fatalf("%s of %s, %s: %q", mode, fabric, settings, line)
		}
		all[line[:at]] = sorted(line[at+1:])
	}
	return all
}

// answered returns the program's answer.
func answered(t *testing.T, program, what, fabric, settings, env string) string {
	t.Helper()
	cmd := exec.Command(program, what)
	if fabric != "" {
		cmd.Args = append(cmd.Args, fabric)
	}
	cmd.Env = append(os.Environ(), "FAKE_NIC="+settings)
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.HasPrefix(string(out), "stub: ") {
		t.Errorf("%s of %q, %s: %v\n%s", what, fabric, settings, err, out)
	}
	return strings.TrimSpace(string(out))
}

// changed returns the attributes that differ.
func changed(a, b map[string]string) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// An attribute is that of its row, in the first and in the last version of it and over each
// fabric, and another where the row is switched off, without any other that changes. In other
// versions the row does nothing.
func TestOffers(t *testing.T) {
	rows, program := rules(t), compiled(t, "offers", Build(t))
	for _, o := range offers {
		r, ok := rows[o.rule]
		if !ok {
			t.Fatalf("there is no row %s", o.rule)
		}
		want := r.value()
		if o.how != nil {
			want = o.how(rows)
		}
		if want == "" {
			t.Fatalf("%s: %q is no value", r.id, r.answer)
		}
		may := append(slices.Clone(o.attributes), o.follow...)
		slices.Sort(may)
		held, around := r.holdsIn(t)
		for _, version := range held {
			for _, fabric := range r.fabrics(version) {
				with := printed(t, program, o.mode, fabric, r.settings(version), o.env)
				without := printed(t, program, o.mode, fabric, r.settings(version)+" without="+r.id, o.env)
				for _, name := range o.attributes {
					if with[name] != want {
						t.Errorf("%s: %s of %s %s over %q is %q, want %q", r.id, name, r.provider, version, fabric, with[name], want)
					}
				}
				if got := changed(with, without); !slices.Equal(got, may) {
					t.Errorf("%s of %s %s over %q, switched off, changes %q, want %q", r.id, r.provider, version, fabric, got, may)
				}
			}
		}
		for _, version := range around {
			for _, fabric := range (rule{provider: r.provider, fabric: "*"}).fabrics(version) {
				with := printed(t, program, o.mode, fabric, r.settings(version), o.env)
				without := printed(t, program, o.mode, fabric, r.settings(version)+" without="+r.id, o.env)
				if got := changed(with, without); got != nil {
					t.Errorf("%s does not hold in %s %s, and changes %q over %q", r.id, r.provider, version, got, fabric)
				}
			}
		}
	}
}

// Caps are cleared, each that a row names, and none of them where the row is switched off.
func TestClearedCaps(t *testing.T) {
	rows, program := rules(t), compiled(t, "offers", Build(t))
	for _, c := range cleared {
		r := rows[c.rule]
		held, _ := r.holdsIn(t)
		for _, version := range held {
			for _, fabric := range r.fabrics(version) {
				with := printed(t, program, c.mode, fabric, r.settings(version), "")
				without := printed(t, program, c.mode, fabric, r.settings(version)+" without="+r.id, "")
				names := flagForm.FindAllString(r.what, -1)
				if len(names) == 0 {
					t.Errorf("%s names no caps: %q", r.id, r.what)
				}
				for _, name := range names {
					if has(with["caps"], name) || !has(without["caps"], name) {
						t.Errorf("%s of %s %s over %q: %s is there: %v; and without the row: %v", r.id, r.provider, version, fabric,
							name, has(with["caps"], name), has(without["caps"], name))
					}
				}
				if got := changed(with, without); !slices.Equal(got, []string{"caps", "rx caps", "tx caps"}) {
					t.Errorf("%s of %s %s over %q, switched off, changes %q", r.id, r.provider, version, fabric, got)
				}
			}
		}
	}
}

func has(flags, flag string) bool { return slices.Contains(strings.Split(flags, ","), flag) }
