package sim

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/fabric"
)

const tableFile = "../ofi/stub/rules.tsv"

// answers returns the answers of the table's rows, without the text in brackets.
func answers(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 9 && !strings.HasPrefix(line, "#") {
			rows[f[0]], _, _ = strings.Cut(f[6], " (")
		}
	}
	return rows
}

// claim is a model's behaviour where a row of the table has its provider's, in the words of the
// row.
type claim struct {
	row   string
	model func() Model
	does  func(*testing.T, Model) string
}

func figure[T int | uint64](of func(Model) T) func(*testing.T, Model) string {
	return func(_ *testing.T, m Model) string { return fmt.Sprint(of(m)) }
}

// when is a manner that a model has, or else does not have.
func when(words string, has func(Model) bool) func(*testing.T, Model) string {
	return func(_ *testing.T, m Model) string {
		if has(m) {
			return words
		}
		return "not: " + words
	}
}

func ordered(m Model) bool {
	c := m.Caps
	return c.WriteAfterWrite || c.SendAfterWrite || c.SendAfterSend || c.ReadAfterWrite || c.Block > 0
}

func unordered(m Model) bool { return !ordered(m) }

// registers is the mr_mode that a model's caps come from; asked: FI_MR_LOCAL is in the hints.
func registers(asked bool) func(*testing.T, Model) string {
	return func(_ *testing.T, m Model) string {
		out := "FI_MR_PROV_KEY" // keys are always the network's
		if m.Caps.PinsMemory {
			out = "FI_MR_ALLOCATED," + out
		}
		if m.Caps.VirtualAddress {
			out += ",FI_MR_VIRT_ADDR"
		}
		if m.Caps.LocalMR && !asked {
			out += ",FI_MR_LOCAL"
		}
		return out
	}
}

// claims of both fabrics, of each, and of verbs.
func claims() (all []claim) {
	for _, m := range []func() Model{EFA, EFADirect, EFA100} {
		for row, does := range map[string]func(*testing.T, Model) string{
			"R3b":  figure(func(m Model) int { return m.Queue }),
			"R3a":  wideQueue,
			"R11a": when("NULL", func(m Model) bool { return !m.Caps.DataTakesRecv }),
			"R11e": when("filled", func(m Model) bool { return m.Caps.Source }),
			"R11k": figure(func(m Model) int { return m.Caps.Data }),
			"R12a": when("any order", unordered),
			"R12b": when("any order, packets twice", func(m Model) bool { return unordered(m) && m.Duplicate > 0 && m.Split > 0 }),
			"R12c": when("any order", func(m Model) bool { return m.Late > 0 }),
			"R16a": fullQueue,
			"R16b": figure(func(m Model) int { return m.Depth }),
			"R16c": figure(func(m Model) int { return m.Caps.RecvQueue }),
			"G1d":  when("ENODATA", func(m Model) bool { return !m.Caps.Fence }),
			"G6d":  figure(func(m Model) int { return m.Caps.RemoteSegments }),
			"G7":   figure(func(m Model) int { return m.Caps.Data }),
			"G8a":  figure(func(m Model) int { return m.Depth }),
			"G8b":  figure(func(m Model) int { return m.Caps.RecvQueue }),
		} {
			all = append(all, claim{row, m, does})
		}
	}
	for row, does := range map[string]func(*testing.T, Model) string{
		"R1a":  when("ENODATA", unordered),
		"R4b":  fromStranger,
		"R10a": unpolled,
		"R10b": firstWrite,
		"R10c": manyFirstWrites,
		"R10d": firstInjected,
		"R16e": withoutReceive,
		"G3a":  registers(true),
		"G4a":  figure(func(m Model) uint64 { return m.Caps.MaxMessage }),
		"G5a":  func(_ *testing.T, m Model) string { return fmt.Sprintf("min(MTU - header, %d)", m.Caps.MaxInject) },
		"G5e":  when("inject_size", func(m Model) bool { return m.Caps.MaxInjectWrite == m.Caps.MaxInject }),
		"G6a":  figure(func(m Model) int { return m.Caps.LocalSegments }),
	} {
		all = append(all, claim{row, EFA, does})
	}
	for _, m := range []func() Model{EFADirect, EFA100} {
		for row, does := range map[string]func(*testing.T, Model) string{
			"R1d":  when("ENODATA", unordered),
			"R4":   fromStranger,
			"R5d":  func(t *testing.T, m Model) string { return undescribed(t, m, fabric.KindSend) },
			"R5e":  func(t *testing.T, m Model) string { return undescribed(t, m, fabric.KindRecv) },
			"R5f":  func(t *testing.T, m Model) string { return undescribed(t, m, fabric.KindWrite) },
			"R6a":  firstInjected,
			"R6b":  firstInjected,
			"R6c":  firstInjected,
			"R6d":  tooLong,
			"R10f": firstWrite,
			"R16d": withoutReceive,
			"G1f":  when("not offered", func(m Model) bool { return m.Caps.Atomics == 0 }),
			"G3b":  registers(false),
			"G4b":  figure(func(m Model) uint64 { return m.Caps.MaxMessage }),
			"G4e":  figure(func(m Model) int { return m.Longest }),
			"G5c":  figure(func(m Model) int { return m.Caps.MaxInject }),
			"G5d":  figure(func(m Model) int { return m.Caps.MaxInjectWrite }),
			"G6c":  figure(func(m Model) int { return m.Caps.LocalSegments }),
		} {
			all = append(all, claim{row, m, does})
		}
	}
	for row, does := range map[string]func(*testing.T, Model) string{
		"G60": when("FI_ORDER_RAR,FI_ORDER_RMA_RAR,FI_ORDER_ATOMIC_RAR,FI_ORDER_RAW,FI_ORDER_RMA_RAW,FI_ORDER_ATOMIC_RAW,"+
			"FI_ORDER_RAS,FI_ORDER_WAW,FI_ORDER_RMA_WAW,FI_ORDER_ATOMIC_WAW,FI_ORDER_WAS,FI_ORDER_SAW,FI_ORDER_SAS", func(m Model) bool {
			return m.Caps.WriteAfterWrite && m.Caps.SendAfterSend
		}),
		// A provider with FI_ATOMIC has no order of messages after writes.
		"G68b": when("FI_ORDER_RAW,FI_ORDER_RAR,FI_ORDER_WAW,FI_ORDER_WAR,FI_ORDER_SAR,FI_ORDER_SAW", func(m Model) bool {
			return !m.Caps.SendAfterWrite && m.Caps.Atomics != 0
		}),
		"G61": figure(func(m Model) int { return m.Caps.MaxInject }),
		"G62": figure(func(m Model) int { return m.Caps.Data }),
		"G63": when("granted", func(m Model) bool { return waits(m) }),
		"G64": registers(false),
		"G65": when("0", func(m Model) bool { return !m.Caps.DataTakesRecv }),
		"G66": figure(func(m Model) int { return m.Depth }),
	} {
		all = append(all, claim{row, Verbs, does})
	}
	return all
}

// found is a model's behaviour in the matter of a row.
type found struct {
	claim
	name, done string
}

// differences returns the rows that differ from the model's behaviour.
func differences(rows map[string]string, all []found) (rowsOff []string, text string) {
	for _, f := range all {
		if want, ok := rows[f.row]; !ok || f.done != want {
			rowsOff = append(rowsOff, f.row)
			text += fmt.Sprintf("%s: row %s says %q (there: %v), and the model %q\n", f.name, f.row, want, ok, f.done)
		}
	}
	return rowsOff, text
}

// Each row about a model describes the model; a row that differs is noticed; and no figure comes
// from the table without a claim.
func TestTable(t *testing.T) {
	rows, claimed := answers(t), map[string]bool{}
	var all []found
	for _, c := range claims() {
		m := c.model()
		claimed[c.row] = true
		all = append(all, found{c, m.Name, c.does(t, m)})
	}
	if _, text := differences(rows, all); text != "" {
		t.Error(text)
	}
	for row := range claimed {
		changed := maps.Clone(rows)
		changed[row] = regexp.MustCompile(`^.`).ReplaceAllString(changed[row], "9")
		if off, _ := differences(changed, all); !slices.Contains(off, row) {
			t.Errorf("with %q in row %s the models are as before", changed[row], row)
		}
	}
	generated, err := os.ReadFile("zz_rules.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, constant := range regexp.MustCompile(`\brule([RG]\d+[a-z]?) = (\d+)`).FindAllStringSubmatch(string(generated), -1) {
		if !claimed[constant[1]] {
			t.Errorf("no claim about row %s, of which there is a figure", constant[1])
		}
		if !slices.Contains(regexp.MustCompile(`\d+`).FindAllString(rows[constant[1]], -1), constant[2]) {
			t.Errorf("row %s says %q, and the models are made of %s (run: make gen)", constant[1], rows[constant[1]], constant[2])
		}
	}
}
