package main

import (
	"strings"
	"testing"
)

// A row needs a source and the line that it quotes.
func TestParse(t *testing.T) {
	const whole = "R5a\tefa\tefa-direct\t2.1\t2.1\tsend without descriptor\tcrash\tv2.1.0:prov/efa/src/efa_msg.c:264\tsg_list[i].lkey"
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"v2.1.0:prov/efa/src/efa_msg.c:264", "assumed", ""},
		{"v2.1.0:prov/efa/src/efa_msg.c:264", "", "has no source"},
		{"v2.1.0:prov/efa/src/efa_msg.c:264", "efa_msg.c", "has no source"},
		{"sg_list[i].lkey", "", "quotes nothing"},
		{"\tsg_list[i].lkey", "", "8 columns"},
		{"R5a", "5a", "is no id"},
		{"\t2.1\t2.1", "\t2\t2.1", "versions"},
		{"crash", "", "says nothing"},
	} {
		rows, err := parse(strings.Replace(whole, c.old, c.new, 1) + "\n")
		if c.want == "" && (err != nil || len(rows) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q in place of %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
	if _, err := parse(whole + "\n" + whole + "\n"); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a row that is there twice: %v", err)
	}
}

// The C value of an answer.
func TestValue(t *testing.T) {
	for answer, want := range map[string]string{
		"ENODATA":                                "FI_ENODATA",
		"FI_CONTEXT2":                            "FI_CONTEXT2",
		"EINVAL (2.2 to 2.4)":                    "FI_EINVAL",
		"FI_MR_LOCAL,FI_MR_HMEM (when asked)":    "FI_MR_LOCAL | FI_MR_HMEM",
		"max(rx size + tx size, 8192)":           "8192UL",
		"the test ends":                          "0",
		"granted up to 80, with a shorter queue": "80UL",
	} {
		if got := (row{answer: answer}).value(); got != want {
			t.Errorf("%q: %s, want %s", answer, got, want)
		}
	}
}
