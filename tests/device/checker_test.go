package device

import (
	"strings"
	"testing"
)

// listing makes a PTX text with one kernel, k.
func listing(body string) string {
	return ".version 9.0\n.target sm_75\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n" + body + "\n}\n"
}

// right is a push of freshly written memory: wait for room, fence, and two stores of the same
// slot's size.
const right = `
	.reg .pred 	%p<2>;
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [k_param_0];
	st.global.u64 	[%rd1], 7;
	// begin inline asm
	atom.relaxed.gpu.add.u64 %rd2, [%rd1], %rd3;
	// end inline asm
$L__BB0_1:
	ld.relaxed.sys.u64 %rd4, [%rd1];
	setp.gt.u64 	%p1, %rd2, %rd4;
	@%p1 bra 	$L__BB0_1;
	{ .reg .pred q; @q bra DONE; nanosleep.u32 20; DONE: }
	fence.acq_rel.sys;
	st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3};
	@%p1 bra $L__BB0_2;
	st.relaxed.sys.v2.u64 [%rd1+16], {%rd2, %rd3};
$L__BB0_2:
	ret;`

// names are defined for the rules of the tables below.
const names = `// PTX let SLOT = st.relaxed.sys.v2
// PTX let FENCE = fence.acq_rel.sys | fence.sc.sys | membar.sys
`

// TestRules: each rule holds for the correct text and not for a wrong one.
func TestRules(t *testing.T) {
	fence, wait := "\tfence.acq_rel.sys;\n", "\t@%p1 bra \t$L__BB0_1;\n"
	last := "\tst.relaxed.sys.v2.u64 [%rd1+16], {%rd2, %rd3};\n"
	for _, c := range []struct {
		rule     string
		old, new string // the edit that makes the text wrong
		want     string
	}{
		{"one FENCE", fence, "", "k: one FENCE: there are 0"},
		{"one FENCE", fence, fence + fence, "k: one FENCE: there are 2"},
		{"one FENCE", wait, fence + wait, "k: one FENCE: there are 2"},
		{"one atom.relaxed.gpu.add", "\t// begin", "$L__BB0_1:\n\t// begin", "label $L__BB0_1: stands there twice"},
		{"one atom.relaxed.gpu.add", "relaxed.gpu.add", "relaxed.sys.add", "k: one atom.relaxed.gpu.add: there are 0"},
		{"one nanosleep", fence, "$LOOP:" + fence + "@%p1 bra $L__BB0_1;", `k: one nanosleep: "nanosleep.u32 20" is in a loop`},
		{"2 SLOT", last, "", "k: 2 SLOT: there are 1"},
		{"2 SLOT", "st.relaxed.sys.v2", "st.relaxed.gpu.v2", "k: 2 SLOT: there are 1"},
		{"some ld.relaxed.sys", "ld.relaxed.sys", "ld.volatile", "k: some ld.relaxed.sys: there is none"},
		{"none st.release | red", last, "\tst.release.sys.u64 [%rd1], %rd2;\n", `k: none st.release | red: there is "st.release.sys.u64 [%rd1], %rd2"`},
		{"none FENCE | st except SLOT after SLOT", last, last + fence, `k: none FENCE | st except SLOT after SLOT: "fence.acq_rel.sys" comes after "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}"`},
		{"none FENCE | st except SLOT after SLOT", last, last + "\tst.global.u32 [%rd1], 1;\n", `k: none FENCE | st except SLOT after SLOT: "st.global.u32 [%rd1], 1" comes after "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}"`},
		{"none FENCE | st except SLOT after SLOT", "\tret;", "@%p1 bra $L__BB0_1;\n\tret;", `k: none FENCE | st except SLOT after SLOT: "fence.acq_rel.sys" comes after "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}"`},
		{"none red after nanosleep", "nanosleep.u32 20;", "", "k: none red after nanosleep: there is no nanosleep"},
		{"none st between atom and FENCE", fence, "\tst.global.u32 [%rd1], 1;\n" + fence, `k: none st between atom and FENCE: "st.global.u32 [%rd1], 1" is between "atom.relaxed.gpu.add.u64 %rd2, [%rd1], %rd3" and "fence.acq_rel.sys"`},
		{"every SLOT after FENCE", fence, "\t@%p1 fence.acq_rel.sys;\n", `k: every SLOT after FENCE: "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}" is reached without FENCE`},
		{"every SLOT after FENCE", fence, "\t@%p1 bra $L__BB0_3;\n" + fence + "$L__BB0_3:\n", `k: every SLOT after FENCE: "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}" is reached without FENCE`},
		{"every SLOT after FENCE", "acq_rel.sys", "acq_rel.gpu", "k: every SLOT after FENCE: there is no FENCE"},
		{"every SLOT after FENCE", "st.relaxed.sys", "st.weak", ""},
		{"every atom before SLOT", fence, "\t@%p1 ret;\n" + fence, `k: every atom before SLOT: after "atom.relaxed.gpu.add.u64 %rd2, [%rd1], %rd3" the end is reached without SLOT`},
		{"every atom before SLOT", fence, "\t@%p1 trap;\n" + fence, ""},
		{"one FENCE from nanosleep", fence, "", "k: one FENCE from nanosleep: there are 0"},
		{"one FENCE from nanosleep", fence, fence + "\t@%p1 bra \t$L__BB0_1;\n", `k: one FENCE from nanosleep: "fence.acq_rel.sys" is in a loop`},
		{"every ld.relaxed in a loop", wait, "", `k: every ld.relaxed in a loop: "ld.relaxed.sys.u64 %rd4, [%rd1]" is in no loop`},
	} {
		if !strings.Contains(right, c.old) {
			t.Fatalf("%s: the text has no %q", c.rule, c.old)
		}
		if got := judge(t, c.rule, right); got != "" {
			t.Errorf("%s: the right text is refused: %s", c.rule, got)
		}
		if got := judge(t, c.rule, strings.Replace(right, c.old, c.new, 1)); !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, with %q in place of %q:\ngot  %s\nwant %s", c.rule, c.new, c.old, got, c.want)
		}
	}
}

// two is a text with two ways to one end: past a match and a shfl, or not.
const two = `
	@%p1 bra $ALONE;
	match.all.sync.b64 %r1, %rd1, %r2;
$AGAIN:
	atom.relaxed.gpu.add.u64 %rd2, [%rd1], 1;
	shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;
	st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd3};
	bra $END;
$ALONE:
	atom.relaxed.gpu.add.u64 %rd2, [%rd1], 2;
	st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd4};
$END:
	ret;`

// TestParts: from and without keep the paths that they name, and each copy of a step has the rules
// of its own path.
func TestParts(t *testing.T) {
	alone, shfl := "[%rd1], 2;\n", "\tshfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\n"
	last := "\tst.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd4};\n"
	for _, c := range []struct {
		rule     string
		old, new string // the edit that makes the text wrong
		want     string
	}{
		{"one atom from match", "\tbra $END", "\t@%p2 bra $AGAIN;\n\tbra $END",
			`"atom.relaxed.gpu.add.u64 %rd2, [%rd1], 1" is in a loop`},
		{"one atom without match", "$ALONE:\n", "$ALONE:\n\tatom.relaxed.gpu.add.u64 %rd2, [%rd1], 3;\n", "there are 2"},
		{"one atom without match", "\tatom.relaxed.gpu.add.u64 %rd2, " + alone, "", "there are 0"},
		{"one SLOT without match", last, "", "there are 0"},
		{"every SLOT after shfl from match", shfl, "", "there is no shfl"},
		{"every SLOT after shfl from match", shfl, "\t@%p2 bra $ALONE;\n" + shfl,
			`"st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd4}" is reached without shfl`},
		{"every atom before SLOT without match", last, "\t@%p2 bra $END;\n" + last,
			`after "atom.relaxed.gpu.add.u64 %rd2, [%rd1], 2" the end is reached without SLOT`},
		{"none shfl without match", last, last + shfl, `there is "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1"`},
		{"none shfl without match", "\tmatch", "\t@%p2 match", `there is "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1"`},
		{"none shfl without match", "match.all", "vote.all", "there is no match"},
		{"some SLOT from shfl without atom", shfl, shfl + "$L:\n\tatom.add.u64 %rd2, [%rd1], 1;\n", "there is none"},
		{"none atom from shfl without SLOT", shfl, shfl + "\t@%p2 bra $AGAIN;\n",
			`there is "atom.relaxed.gpu.add.u64 %rd2, [%rd1], 1"`},
		{"none atom from shfl without SLOT", "\tst.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd3};\n\tbra $END;\n", "",
			`there is "atom.relaxed.gpu.add.u64 %rd2, [%rd1], 2"`},
		{"none SLOT from SLOT", "\tbra $END;\n", "", `there is "st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd4}"`},
	} {
		if !strings.Contains(two, c.old) {
			t.Fatalf("%s: the text has no %q", c.rule, c.old)
		}
		if got := judge(t, c.rule, two); got != "" {
			t.Errorf("%s: the right text is refused: %s", c.rule, got)
		}
		want := "k: " + c.rule + ": " + c.want
		if got := judge(t, c.rule, strings.Replace(two, c.old, c.new, 1)); got != want {
			t.Errorf("%s, with %q in place of %q:\ngot  %s\nwant %s", c.rule, c.new, c.old, got, want)
		}
	}
}

// judge returns the complaint about a text.
func judge(t *testing.T, rule, body string) string {
	t.Helper()
	kernels, err := parseSource(names + "// PTX: " + rule + "\nextern \"C\" __global__ void k(int *p)\n")
	if err != nil {
		t.Fatal(err)
	}
	functions, err := parsePTX(listing(body))
	if err != nil {
		return err.Error()
	}
	return strings.Join(kernels[0].check(functions["k"]), "; ")
}

// TestPaths: a jump table and a label of an inner block lead where they say.
func TestPaths(t *testing.T) {
	const body = `
	@%p1 bra $OUT;
$L_brx_0: .branchtargets
	$A,
	$B;
	brx.idx %r1, $L_brx_0;
$A:
	{ L: fence.sc.sys; @%p2 bra L; }
	{ L: bra.uni M; M: }
$B:
	st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd3};
$OUT:
	ret;`
	for rule, want := range map[string]string{
		"every FENCE in a loop":   "",
		"every FENCE before SLOT": "",
		"every SLOT after FENCE":  `k: every SLOT after FENCE: "st.relaxed.sys.v2.u64 [%rd1], {%rd2, %rd3}" is reached without FENCE`,
		"one SLOT":                "",
	} {
		if got := judge(t, rule, body); got != want {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
	}
}

// TestUnreadable: a text that the checker cannot read is refused, not passed.
func TestUnreadable(t *testing.T) {
	for body, want := range map[string]string{
		"call.uni (r), f, (p); ret;": `instruction "call.uni (r), f, (p)": what is called cannot be judged (let it be inlined)`,
		"bra $NO; ret;":              `instruction "bra $NO": there is no label $NO`,
		"brx.idx %r1, $T; ret;":      `instruction "brx.idx %r1, $T": its branch targets are not known`,
		"{ ret;":                     "the body does not end",
		"bra":                        `statement "bra\n}\n": has no end`,
	} {
		_, err := parsePTX(listing(body))
		if want = "parse PTX of k: " + want; err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", body, err, want)
		}
	}
}

// TestSource: a kernel without rules, a rule without a kernel and a rule that
// says nothing are mistakes of the file.
func TestSource(t *testing.T) {
	const k = "extern \"C\" __global__ void k(int *p)\n"
	for _, c := range []struct{ text, want string }{
		{k, "line 1: kernel k: no rule says what it has to look like"},
		{"// PTX: none st\n", `rule "none st": no kernel follows`},
		{"// PTX: none st\n__global__ void k()\n", `line 2: kernel k: is not extern "C", so its name in the PTX is another`},
		{"// PTX: none stt\n" + k, `line 1: read "stt": "stt" is no instruction that rules speak of`},
		{"// PTX: none SLOT\n" + k, `line 1: read "SLOT": no name SLOT (// PTX let SLOT = ...)`},
		{"// PTX: never st\n" + k, `line 1: read rule "never st": it has no form that is known (doc.go lists them)`},
		{"// PTX: every st\n" + k, `line 1: read rule "every st": it has no form that is known (doc.go lists them)`},
		{"// PTX: some st before red\n" + k, `line 1: read rule "some st before red": it has no form that is known (doc.go lists them)`},
		{"// PTX: some st from atom before red\n" + k, `line 1: read "atom before red": "atom before red" is no instruction that rules speak of`},
		{"// PTX: some st without red from atom\n" + k, `line 1: read "red from atom": "red from atom" is no instruction that rules speak of`},
		{"// PTX: none st without NONE\n" + k, `line 1: read "NONE": no name NONE (// PTX let NONE = ...)`},
		{"// PTX none st\n" + k, `line 1: read "// PTX none st": neither a rule (// PTX: ...) nor a name (// PTX let NAME = ...)`},
		{"// PTX let A = st\n// PTX let A = ld\n", "line 2: name A: defined twice, or not in capitals"},
		{"// PTX let A = st except st.weak\n// PTX let B = A | ld\n", `line 2: read "A | ld": A has an except of its own (write it out)`},
	} {
		if _, err := parseSource(c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
