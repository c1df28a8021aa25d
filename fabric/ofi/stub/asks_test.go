package stub

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const notOffered = "ENODATA"

// asks are the rows that are answers to hints and calls. Where answer is "" it is the row's;
// {G4e} is the value of a row.
var asks = []struct {
	rule, what, settings, env string
	answer, without           string
}{
	{"G1c", "FI_RMA_EVENT", "", "", "", "fine"},
	{"G1d", "FI_FENCE", "", "", "", "fine"},
	{"G1f", "FI_TAGGED", "", "", notOffered, "fine"},
	{"G1f", "FI_ATOMIC", "", "", notOffered, "fine"},
	{"G1f", "FI_DIRECTED_RECV", "", "", notOffered, "fine"},
	{"G1f", "FI_MULTI_RECV", "", "", notOffered, "fine"},
	{"G2c", "no-mode", "", "", notOffered, "fine"},
	{"G3c", "no-registration", "", "", notOffered, "fine"},
	{"G3d", "no-local", "", "", "", "fine"},
	{"G3e", "basic", "", "", notOffered, "fine"},
	{"G4d", "largest", "", "", "{G4e} {G4f}", "ENOPROTOOPT"},
	{"G4f", "largest", "", "", "{G4e} {G4f}", "{G4e} 0"},
	{"G5d", "inject-option", "", "", "", "{G5c}"},
	{"G5e", "inject-option", "", "", "{G5a}", "ENOPROTOOPT"},
	{"G5f", "wide", "wide=1", "", "{G5h}, a shorter queue, fine", notOffered},
	{"G5h", "wider", "wide=1", "", notOffered, "81, a shorter queue, fine"},
	{"G8c", "longer-tx", "", "", notOffered, "fine"},
	{"G8c", "longer-rx", "", "", notOffered, "fine"},
	{"G10a", "progress", "", "", notOffered, "fine"},
	{"G15", "op-flag", "", "", notOffered, "fine"},
	{"G12b", "vector-twice", "", "", "", "fine"},
	{"G12c", "vector-event", "", "", "", "fine"},
	{"G12c", "vector-read", "", "", "", "fine"},
	{"G12c", "vector-symmetric", "", "", "", "fine"},
	{"G12c", "vector-name", "", "", "", "fine"},
	{"G12d", "vector-count", "", "", "", "10"},
	{"G12e", "empty-gid", "", "", "", "inserted"},
	{"G13c", "short-name", "", "", "ETOOSMALL, {G13b}", "fine, {G13b}"},
	{"G13d", "short-source", "", "", "", "fine"},
	{"G13d", "short-dest", "", "", "", "fine"},
	{"G19", "transmits", "", "", "ENOCQ", "fine"},
	{"G19", "receives", "", "", "ENOCQ", "fine"},
	{"G20", "devices", "nics=3", "FI_EFA_IFACE=rdmap32s6,rdmap0s6", "rdmap0s6-rdm rdmap32s6-rdm", "rdmap0s6-rdm rdmap16s6-rdm rdmap32s6-rdm"},
	{"G20", "devices", "nics=2", "FI_EFA_IFACE=rdmap16s6-rdm", notOffered, "rdmap0s6-rdm rdmap16s6-rdm"},
	{"G21", "devices", "", "FI_EFA_MTU_SIZE=1", "stub: G21: ", "rdmap0s6-rdm"},
	{"G21", "devices", "", "FI_EFA_TX_IOV_LIMIT=1", "stub: G21: ", "rdmap0s6-rdm"},
	{"G21", "devices", "", "FI_EFA_RX_IOV_LIMIT=1", "stub: G21: ", "rdmap0s6-rdm"},
	{"G22", "old-hmem", "", "", "", rdm},
	{"G63", "wait-fd", "", "", "fine", "ENOSYS"},
}

// asksHold are answers that no row changes.
var asksHold = []struct{ what, settings, fabric, env, answer string }{
	{"devices", "nics=2", rdm, "FI_EFA_IFACE=all", "rdmap0s6-rdm rdmap16s6-rdm"},
	{"devices", "nics=2", direct, "FI_EFA_IFACE=all", "rdmap0s6-rdm rdmap16s6-rdm"},
	{"old-hmem", "", rdm, "FI_EFA_USE_DEVICE_RDMA=1", rdm},
	{"basic", "", rdm, "", "fine"},
	{"basic", "provider=cxi", "", "", notOffered},
	{"basic", "provider=verbs", "", "", "fine"},
	{"basic-and-all", "", rdm, "", notOffered},
	{"wide", "", direct, "", notOffered},
	{"wide", "wide=1 version=2.4", direct, "", notOffered},
	{"wide", "", rdm, "", "80, the same queue, fine"},
	{"progress", "version=2.0", rdm, "", "fine"},
	{"progress", "", direct, "", "fine"},
	{"progress", "provider=cxi", "", "", notOffered},
	{"progress", "provider=verbs", "", "", "fine"},
	{"vector-twice", "version=2.2", rdm, "", "fine"},
	{"inject-option", "version=1.22", rdm, "", "ENOPROTOOPT"},
	{"whole-source", "", rdm, "", "fine"},
	{"short-source", "provider=cxi", "", "", "fine"},
}

var placeForm = regexp.MustCompile(`\{(\w+)\}`)

// expanded puts the values of rows in.
func expanded(answer string, rows map[string]rule) string {
	return placeForm.ReplaceAllStringFunc(answer, func(place string) string { return rows[strings.Trim(place, "{}")].value() })
}

// Hints and calls are answered as the row says, in the first and in the last version of it and
// over each fabric, and otherwise where the row is switched off. In the versions around the row
// does nothing.
func TestAsks(t *testing.T) {
	rows, program := rules(t), compiled(t, "offers", Build(t))
	for _, a := range asks {
		r, ok := rows[a.rule]
		if !ok {
			t.Fatalf("there is no row %s", a.rule)
		}
		want, other := expanded(a.answer, rows), expanded(a.without, rows)
		if want == "" {
			want, _, _ = strings.Cut(r.answer, " (")
		}
		held, around := r.holdsIn(t)
		for _, version := range held {
			for _, fabric := range r.fabrics(version) {
				settings := r.settings(version) + " " + a.settings
				got := answered(t, program, a.what, fabric, settings, a.env)
				if got != want && !(strings.HasPrefix(want, "stub: ") && strings.HasPrefix(got, want)) {
					t.Errorf("%s: %s of %s %s over %q: %q, want %q", r.id, a.what, r.provider, version, fabric, got, want)
				}
				if got := answered(t, program, a.what, fabric, settings+" without="+r.id, a.env); got != other {
					t.Errorf("%s, switched off: %s of %s %s over %q: %q, want %q", r.id, a.what, r.provider, version, fabric, got, other)
				}
			}
		}
		for _, version := range around {
			for _, fabric := range (rule{provider: r.provider, fabric: "*"}).fabrics(version) {
				settings := r.settings(version) + " " + a.settings
				with := answered(t, program, a.what, fabric, settings, a.env)
				without := answered(t, program, a.what, fabric, settings+" without="+r.id, a.env)
				if with != without {
					t.Errorf("%s does not hold in %s %s, and makes %q of %q over %q", r.id, r.provider, version, without, with, fabric)
				}
			}
		}
	}
	for _, h := range asksHold {
		if got := answered(t, program, h.what, h.fabric, h.settings, h.env); got != h.answer {
			t.Errorf("%s with %q and %q over %q: %q, want %q", h.what, h.settings, h.env, h.fabric, got, h.answer)
		}
	}
}

// One info that fails a later check takes all others with it (G18). The program asks for both
// fabrics at once.
func TestAllOrNone(t *testing.T) {
	r, program := rules(t)["G18"], compiled(t, "offers", Build(t))
	held, around := r.holdsIn(t)
	for _, version := range held {
		if got := answered(t, program, "old-hmem", "", r.settings(version), ""); got != "ENODATA" {
			t.Errorf("%s: %q, want ENODATA", version, got)
		}
		if got := answered(t, program, "old-hmem", "", r.settings(version)+" without=G18", ""); got != direct {
			t.Errorf("%s, switched off: %q, want %s", version, got, direct)
		}
	}
	for _, version := range around {
		want := direct
		if version == "2.0" {
			want = "ENODATA" // there is one fabric
		}
		if got := answered(t, program, "old-hmem", "", r.settings(version), ""); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// queueSized are the rows that are entries of a queue, which is in the log alone.
var queueSized = []string{"G38a", "G38b"}

func TestUnaskedQueues(t *testing.T) {
	rows, program := rules(t), compiled(t, "offers", Build(t))
	size := func(settings string) string {
		log := filepath.Join(t.TempDir(), "log")
		if got := answered(t, program, "unasked", "", settings+" log="+log, ""); got != "fine" {
			t.Errorf("%s: %s", settings, got)
		}
		text, err := os.ReadFile(log)
		of := regexp.MustCompile(`cq \d+ of (\d+)`).FindSubmatch(text)
		if err != nil || of == nil {
			t.Fatalf("%s: %v, the log has %q", settings, err, text)
		}
		return string(of[1])
	}
	for _, id := range queueSized {
		r := rows[id]
		held, _ := r.holdsIn(t)
		for _, version := range held {
			if got := size(r.settings(version)); got != r.value() {
				t.Errorf("%s of %s: a queue of %s, want %s", id, version, got, r.value())
			}
			if got := size(r.settings(version) + " without=" + id); got == r.value() {
				t.Errorf("%s of %s: a queue of %s, and it is switched off", id, version, got)
			}
		}
	}
}

// coveredOffers returns the rows that tests here break.
func coveredOffers() map[string]bool {
	covered := map[string]bool{"G18": true}
	for _, o := range offers {
		covered[o.rule] = true
	}
	for _, c := range cleared {
		covered[c.rule] = true
	}
	for _, a := range asks {
		covered[a.rule] = true
	}
	for _, id := range queueSized {
		covered[id] = true
	}
	return covered
}

// A row is no row until a test breaks it.
func TestEveryOfferIsBroken(t *testing.T) {
	rows := rules(t)
	if open := uncovered(rows, "G", coveredOffers()); len(open) > 0 {
		t.Errorf("no test breaks %s (rows of rules.tsv): add it to offers or asks", strings.Join(open, ", "))
	}
	for id := range coveredOffers() {
		if _, ok := rows[id]; !ok {
			t.Errorf("a test breaks %s, which is no row of rules.tsv", id)
		}
	}
	rows["G99z"] = rule{id: "G99z"}
	if open := uncovered(rows, "G", coveredOffers()); len(open) != 1 || open[0] != "G99z" {
		t.Errorf("a row without a test: %q are said to have none", open)
	}
}
