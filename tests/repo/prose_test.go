package repo

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/abi/table"
)

// proseNumbers are numbers of pages that something else in the tree decides: the words around them,
// with a group for each number, and the numbers.
var proseNumbers = []struct {
	page, words string
	numbers     func(*testing.T) []int
}{
	{"docs/guides/bootstrap.md", `one of (\d+) ports between (\d+) and (\d+), which the name of the step`, slurmPorts},
	{"docs/guides/efa.md", `a table with (\d+) rules of efa`, efaRules},
	{"docs/guides/trace.md", `takes (\d+) ns longer, and one that is only counted (\d+) ns`, shimCosts},
	{"docs/concepts/model.md", `up to (\d+) bytes of data, travels as`, putBytes},
	{"docs/concepts/model.md", `the (\d+) bytes of a message header`, headerBytes},
	{"docs/concepts/architecture.md", `up to (\d+) bytes become a message`, putBytes},
	{"docs/concepts/architecture.md", `Up to (\d+) bytes, data and signal are one message`, messageBytes},
	{"docs/guides/chaos.md", `puts of up to (\d+) bytes`, putBytes},
	{"docs/guides/eager.md", `to (\d+) bytes travel there as one message`, messageBytes},
	{"docs/guides/eager.md", `tokens of more than (\d+) bytes where`, messageBytes},
	{"docs/guides/gpu-network.md", `puts and gets above (\d+) bytes`, putBytes},
}

// TestProseNumbers compares numbers in pages with the code, the table or the measurement that they
// come from.
func TestProseNumbers(t *testing.T) {
	for _, p := range proseNumbers {
		text := strings.Join(strings.Fields(content(t, p.page)), " ")
		m := regexp.MustCompile(p.words).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s: no text matches %q (change the row with the page)", p.page, p.words)
			continue
		}
		var want []string
		for _, n := range p.numbers(t) {
			want = append(want, fmt.Sprint(n))
		}
		if !slices.Equal(m[1:], want) {
			t.Errorf("%s: %q has the numbers %q, and their source says %q (correct the page)", p.page, m[0], m[1:], want)
		}
	}
}

// content returns a file of the tree.
func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// found returns the numbers that the groups of a pattern have in a file.
func found(t *testing.T, name, pattern string) (out []int) {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(content(t, name))
	if m == nil {
		t.Fatalf("%s: nothing matches %q", name, pattern)
	}
	for _, text := range m[1:] {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, n)
	}
	return out
}

func slurmPorts(t *testing.T) []int {
	const file = "runtime/bootstrap/slurm/step.go"
	return append(found(t, file, `listeners = (\d+)`), found(t, file, `firstPort, lastPort = (\d+), (\d+)`)...)
}

func efaRules(t *testing.T) []int {
	n := 0
	for line := range strings.Lines(content(t, "fabric/ofi/stub/rules.tsv")) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && fields[1] == "efa" {
			n++
		}
	}
	return []int{n}
}

func shimCosts(t *testing.T) []int {
	adds := map[string]int{}
	for line := range strings.Lines(content(t, "bench/results/preload.jsonl")) {
		var row struct {
			What string
			Adds float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		adds[row.What] = int(math.Round(row.Adds))
	}
	return []int{adds["p, timed"], adds["p, counted"]}
}

func tableNumber(t *testing.T, name string) int {
	t.Helper()
	for _, u := range table.Units() {
		for _, c := range u.Constants {
			if c.Name == name {
				return c.Value
			}
		}
	}
	t.Fatalf("abi/table has no %s", name)
	return 0
}

func messageBytes(t *testing.T) []int {
	return []int{tableNumber(t, "MESSAGE_SIZE") - tableNumber(t, "HEADER_SIZE")}
}

func putBytes(t *testing.T) []int { return []int{tableNumber(t, "PUT_MOST")} }

func headerBytes(t *testing.T) []int { return []int{tableNumber(t, "HEADER_SIZE")} }

// TestPreloadParts: the text of SHMEM_PRELOAD and the page on traces have each part that the shim
// takes.
func TestPreloadParts(t *testing.T) {
	keys := regexp.MustCompile(`strcmp\(key, "(\w+)"\)`).FindAllStringSubmatch(content(t, "capi/preload/mode_trace.c"), -1)
	if len(keys) < 5 {
		t.Fatalf("capi/preload/mode_trace.c takes %d parts", len(keys))
	}
	for _, k := range keys {
		if !strings.Contains(content(t, "runtime/config/table.go"), " ,"+k[1]+"=") {
			t.Errorf("runtime/config/table.go: the text of SHMEM_PRELOAD lacks ,%s=", k[1])
		}
		if !strings.Contains(content(t, "docs/guides/trace.md"), "| `"+k[1]+"=") {
			t.Errorf("docs/guides/trace.md: the table of SHMEM_PRELOAD lacks %s=", k[1])
		}
	}
}

// TestModelOfTheArea: the page and the picture of a PE's slice have the parts that package area
// divides it into, in their order.
func TestModelOfTheArea(t *testing.T) {
	layout := regexp.MustCompile(`(?m)^//\s+\| (statics .*) \| user heap`).FindStringSubmatch(content(t, "runtime/job/area/layout.go"))
	if layout == nil {
		t.Fatal("runtime/job/area/layout.go has no picture of the area")
	}
	parts := strings.Split(layout[1], " | ")
	var rows, boxes []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z ]+) \| `).FindAllStringSubmatch(content(t, "docs/concepts/model.md"), -1) {
		if slices.Contains(parts, m[1]) {
			rows = append(rows, m[1])
		}
	}
	for _, m := range regexp.MustCompile(`y="66.2"[^>]*>([^<]*)<`).FindAllStringSubmatch(content(t, "docs/images/model-slice.svg"), -1) {
		boxes = append(boxes, m[1])
	}
	if !reflect.DeepEqual(rows, parts) {
		t.Errorf("docs/concepts/model.md has the parts %q, and runtime/job/area/layout.go %q", rows, parts)
	}
	if want := append(slices.Clone(parts), "user heap"); !reflect.DeepEqual(boxes, want) {
		t.Errorf("docs/images/model-slice.svg has the parts %q, and runtime/job/area/layout.go %q", boxes, want)
	}
}

// TestTroubleshooting: the messages that the page on troubleshooting names are in the sources of the
// library or of its commands. Parts that differ from case to case are "..." there.
func TestTroubleshooting(t *testing.T) {
	var sources strings.Builder
	for _, f := range files(t) {
		top, _, _ := strings.Cut(f.path, "/")
		if slices.Contains([]string{"capi", "cmd", "device", "fabric", "runtime"}, top) && !strings.Contains(f.path, "_test.") {
			sources.Write(f.data)
		}
	}
	ofOthers := []string{"error while loading shared libraries: libshmem.so"} // glibc's
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)`(?: in the report of a wait)? \\| .* \\| .* \\|$").FindAllStringSubmatch(content(t, "docs/guides/troubleshooting.md"), -1)
	if len(rows) < 20 {
		t.Errorf("docs/guides/troubleshooting.md has %d messages: the test looks for another form", len(rows))
	}
	for _, row := range rows {
		for part := range strings.SplitSeq(row[1], "...") {
			if part = strings.TrimSpace(part); !slices.Contains(ofOthers, part) && !strings.Contains(sources.String(), part) {
				t.Errorf("docs/guides/troubleshooting.md: no source has %q, of the message %q (write what the library says)", part, row[1])
			}
		}
	}
}

// TestErrors: the page of errors has each constant of the header, each exception of the package and
// each exit status of shmemrun.
func TestErrors(t *testing.T) {
	page := content(t, "docs/reference/errors.md")
	for _, from := range []struct{ file, pattern, row string }{
		{"include/shmemx.h", `#define (SHMEMX_ERROR_\w+) (\d+) /\* (.*?) \*/`, "| `%s` | %s | %s |\n"},
		{"python/shmem/_errors.py", `class (\w+)\(\w+[^)]*\):\n    """(.*?)\.(?:"""|\n)`, "| `%s` | * | %s |\n"},
		{"runtime/bootstrap/launch/options.go", `\tStatus\w+ += (\d+)`, "%s"},
	} {
		found := regexp.MustCompile(from.pattern).FindAllStringSubmatch(content(t, from.file), -1)
		if len(found) < 4 {
			t.Errorf("%s has %d: the test looks for another form", from.file, len(found))
		}
		for _, m := range found {
			args := make([]any, len(m)-1)
			for i, word := range m[1:] {
				args[i] = word
			}
			before, after, _ := strings.Cut(fmt.Sprintf(from.row, args...), "*")
			if row := regexp.QuoteMeta(before) + ".*" + regexp.QuoteMeta(after); m[1] != "ShmemError" && !regexp.MustCompile(row).MatchString(page) {
				t.Errorf("docs/reference/errors.md lacks %s of %s", m[0], from.file)
			}
		}
	}
}

// TestMeasuredSupport: what the table of limits says is measured names the machine and the day, as
// the rows of the page that it links have them.
func TestMeasuredSupport(t *testing.T) {
	const page = "docs/start/limits.md"
	machine := regexp.MustCompile(`\]\(\.\./\.\./bench/results/([\w-]+)\.md\)(?: of (?:(\d+) (\w+) and )?(\d+) cores, ([\d-]+))?`)
	measured := 0
	for line := range strings.Lines(content(t, page)) {
		if !strings.Contains(line, "| measured") {
			continue
		}
		found := machine.FindAllStringSubmatch(line, -1)
		if measured++; len(found) == 0 {
			t.Errorf("%s: no page of bench/results in %s", page, line)
		}
		for _, m := range found {
			rows := "bench/results/" + strings.Replace(m[1], "README", "rows", 1) + ".jsonl"
			facts := regexp.MustCompile(`(?m)^.*"facts".*"cores": `+m[4]+`,.*$`).FindAllString(content(t, rows), -1)
			if !slices.ContainsFunc(facts, func(f string) bool {
				return strings.Contains(f, `"date": "`+m[5]+`"`) && (m[2] == "" || strconv.Itoa(strings.Count(f, m[3])) == m[2])
			}) {
				t.Errorf("%s: %s has no rows of such a machine and day: %s", page, rows, m[0])
			}
		}
	}
	if measured < 4 {
		t.Errorf("%s says of %d things that they are measured: the test looks for another form", page, measured)
	}
}

// TestMeasuredAdvice: each figure of the page on best practices is in a cell of the page of figures
// that its row names.
func TestMeasuredAdvice(t *testing.T) {
	const page = "docs/guides/best-practices.md"
	rows := regexp.MustCompile(`(?m)^\| .* \| .* \| ([\d.]+) \| ([\d.]+) \| \S+ \| \[.*\]\(\.\./\.\./([\w/.-]+).*\) \|$`).FindAllStringSubmatch(content(t, page), -1)
	if len(rows) < 10 {
		t.Errorf("%s has %d rows with figures: the test looks for another form", page, len(rows))
	}
	for _, row := range rows {
		figures := content(t, row[3])
		for _, number := range row[1:3] {
			if !strings.Contains(figures, "| "+number+" |") && !strings.Contains(figures, "| "+number+" (") {
				t.Errorf("%s: %s has no cell with %s, of the row %s (measure again, and correct the row)", page, row[3], number, row[0])
			}
		}
	}
}

// TestCostsOfCalls compares the times in the page on the choice of a call with the page of figures,
// from which they are.
func TestCostsOfCalls(t *testing.T) {
	const page = "docs/concepts/which-call.md"
	figures := content(t, "bench/results/README.md")
	for name, metric := range map[string]string{
		"p and a wait for the word": "p_pingpong_half",
		"put_signal":                "put_signal_pingpong_half",
		"notify":                    "notify_pingpong_half",
		"message":                   "send_pingpong_half",
	} {
		row := regexp.MustCompile(`(?m)^\| ` + name + ` \| ([\d.]+) us \| ([\d.]+) us \|$`).FindStringSubmatch(content(t, page))
		if row == nil {
			t.Errorf("%s has no row of times for %s", page, name)
			continue
		}
		for i, place := range []string{"node", "tcp"} {
			m := regexp.MustCompile(`(?m)^\| ` + place + ` \| 2 \| ` + metric + ` \| 8 \| us \| ([\d.]+) \|`).FindStringSubmatch(figures)
			if m == nil || m[1] != row[i+1] {
				t.Errorf("%s: %s takes %s us, %s, and bench/results/README.md says %q (correct the page)", page, name, row[i+1], place, m)
			}
		}
	}
}
