package tracereport

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"libshmem/cmd/internal/tracefile"
)

const (
	textWidth  = 100
	textGroups = 12 // rows of the matrix of a text
	textRows   = 25 // rows of the table of functions
	textWaits  = 10 // rows of each table of waits
	textPEs    = 32 // rows of the table of PEs
	barWidth   = 40 // the longest bar of the table of sizes, in characters
)

// Text writes the report for a terminal: the notes, the summary, and a table for each part that the
// trace has.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	wrap := func(list []string) {
		for _, s := range list {
			writeWrapped(&b, s)
		}
	}
	if len(r.Notes) > 0 {
		b.WriteString("Before the figures\n")
		wrap(r.Notes)
		b.WriteString("\n")
	}
	b.WriteString("Summary\n")
	wrap(r.Summary)
	if len(r.Functions) > 0 {
		b.WriteString("\nTime by function (percentiles are within " + fmt.Sprint(ErrorPercent) + " %)\n")
		r.functions(&b, r.Functions, r.Job.CallNs)
	}
	if len(r.Network) > 0 {
		b.WriteString("\nTime of proxies, rings and NICs\n")
		r.functions(&b, r.Network, 0)
	}
	if len(r.Counted) > 0 {
		b.WriteString("\nCalls that were counted and not timed\n")
		list := [][]string{{"function", "calls"}}
		for i, c := range r.Counted {
			if i == textRows {
				list = append(list, []string{fmt.Sprintf("and %d more (--json has all)", len(r.Counted)-i)})
				break
			}
			list = append(list, []string{c.Name, withCommas(c.Calls)})
		}
		table(&b, list)
	}
	if r.Waits.Ns > 0 {
		r.waitText(&b)
	}
	if len(r.Guesses) > 0 {
		r.guessText(&b)
	}
	if r.Job.Calls > 0 {
		r.peText(&b)
	}
	r.matrixText(&b)
	r.sizeText(&b)
	_, err := io.WriteString(w, strings.Map(printable, b.String()))
	return err
}

// printable replaces characters that a terminal might interpret as a command, because names come
// from files. It is for strings.Map.
func printable(r rune) rune {
	if r != '\n' && !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// writeWrapped writes a sentence as a list item in lines of limited length. A line does not end
// between a number and its unit.
func writeWrapped(b *strings.Builder, s string) {
	line := "-"
	words := strings.Fields(s)
	for i, word := range words {
		if i > 0 && unit[strings.TrimRight(word, ".,;:)")] {
			line += " " + word // a unit stays on the line of its number
			continue
		}
		if len(line)+1+len(word) > textWidth-4 && line != "-" && line != " " {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

var unit = map[string]bool{"%": true, "ns": true, "us": true, "ms": true, "s": true, "B": true, "KiB": true, "MiB": true, "GiB": true}

// table writes rows as columns of equal width; the first column is aligned to the left, the others
// to the right.
func table(b *strings.Builder, rows [][]string) {
	var width []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len(c))
		}
	}
	for _, row := range rows {
		line := ""
		for i, c := range row {
			if i == 0 {
				line += fmt.Sprintf("  %-*s", width[i], c)
			} else {
				line += fmt.Sprintf("  %*s", width[i], c)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// functions writes the rows of functions. Actions of the network have no share of a total time: for
// them `all` is 0.
func (r *Report) functions(b *strings.Builder, list []Function, all int64) {
	rows := [][]string{{"function", "calls", "bytes", "time", "share", "p50", "p90", "p99", "max"}}
	if all == 0 {
		rows[0] = append([]string{"action"}, slices.Delete(rows[0], 4, 5)[1:]...)
	}
	for i, f := range list {
		if i == textRows {
			rows = append(rows, []string{fmt.Sprintf("and %d more (--json has all)", len(list)-i)})
			break
		}
		d := tracefile.Duration
		row := []string{f.Name, withCommas(f.Calls), sizeOrDash(f.Bytes), d(f.Ns), percent(f.Ns, all), d(f.P50), d(f.P90), d(f.P99), d(f.Max)}
		if all == 0 {
			row = slices.Delete(row, 4, 5)
		}
		rows = append(rows, row)
	}
	table(b, rows)
}

// sizeOrDash formats the bytes that a function has moved: a dash for none, which most functions
// have.
func sizeOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return tracefile.Size(n)
}

// waitText writes who waited for whom in collective calls, and which calls lost most.
func (r *Report) waitText(b *strings.Builder) {
	d := tracefile.Duration
	b.WriteString("\nWho waited for whom, in all collective calls\n")
	rows := [][]string{{"PE", "waited for", "time", "times"}}
	for i, p := range r.Waits.Pairs {
		if i == textWaits {
			break
		}
		rows = append(rows, []string{fmt.Sprint(p.Waiter), fmt.Sprintf("PE %d", p.For), d(p.Ns), withCommas(p.Times)})
	}
	table(b, rows)
	b.WriteString("\nCollective calls that lost most\n")
	rows = [][]string{{"call", "at", "PEs", "late PE", "late by", "time lost"}}
	for i, w := range r.Waits.Worst {
		if i == textWaits {
			break
		}
		rows = append(rows, []string{w.callName(), d(w.AtNs), fmt.Sprint(w.PEs), fmt.Sprintf("PE %d", w.Late), d(w.ByNs), d(w.LostNs)})
	}
	table(b, rows)
}

// guessText writes the table of waits for values in memory, with their likely writers.
func (r *Report) guessText(b *strings.Builder) {
	b.WriteString("\nWaits for a value in memory (likely writer: a guess, the PE that wrote there last)\n")
	rows := [][]string{{"PE", "likely writer", "time", "times"}}
	for i := range r.Guesses[:min(len(r.Guesses), textWaits)] {
		g := &r.Guesses[i]
		rows = append(rows, []string{fmt.Sprint(g.Waiter), g.writerName(), tracefile.Duration(g.Ns), withCommas(g.Times)})
	}
	table(b, rows)
}

// writerName names the likely writer, with a mark that it is a guess.
func (g *Guess) writerName() string {
	if g.Writer == noWriter {
		return "not known"
	}
	return fmt.Sprintf("PE %d?", g.Writer)
}

// peText writes the table of PEs, of which it shows the first ones.
func (r *Report) peText(b *strings.Builder) {
	d := tracefile.Duration
	b.WriteString("\nPEs\n")
	rows := [][]string{{"PE", "calls", "bytes moved", "time", "in calls", "waited", "others waited", "came last"}}
	for i, p := range r.PEs {
		if i == textPEs {
			rows = append(rows, []string{fmt.Sprintf("and %d more (--json has all)", len(r.PEs)-i)})
			break
		}
		rows = append(rows, []string{
			fmt.Sprint(p.PE), withCommas(p.Calls), tracefile.Size(p.Bytes), d(p.LengthNs), d(p.CallNs), d(p.WaitedNs), d(p.CausedNs), withCommas(p.Last),
		})
	}
	table(b, rows)
}

// inGroups returns the matrix with at most `most` rows and columns: if it has more, several of them
// are added up in one.
func (m *Matrix) inGroups(most int) Matrix {
	n := len(m.Calls)
	size := (n + most - 1) / most // rows that are added up in one
	if size <= 1 {
		return *m
	}
	g := newMatrix(0)
	g.Of, g.Group = m.Of, m.Group*size
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			if i%size == 0 && j == 0 {
				g.Calls = append(g.Calls, make([]int64, (n+size-1)/size))
				g.Bytes = append(g.Bytes, make([]int64, (n+size-1)/size))
			}
			g.Calls[i/size][j/size] += m.Calls[i][j]
			g.Bytes[i/size][j/size] += m.Bytes[i][j]
		}
	}
	return g
}

// label returns the numbers of the PEs of group g, for the head of a row or column: "4" or "4-7".
// The last group may be smaller than the others.
func (m *Matrix) label(g, npes int) string {
	if m.Group == 1 {
		return fmt.Sprint(g)
	}
	return fmt.Sprintf("%d-%d", g*m.Group, min((g+1)*m.Group, npes)-1)
}

// empty reports whether nothing moved.
func (m *Matrix) empty() bool {
	for i := range m.Calls {
		for j := range m.Calls[i] {
			if m.Calls[i][j] != 0 {
				return false
			}
		}
	}
	return true
}

// matrixText writes the bytes between PEs as a matrix of at most textGroups rows, if any were
// moved.
func (r *Report) matrixText(b *strings.Builder) {
	if r.Matrix.empty() {
		return
	}
	m := r.Matrix.inGroups(textGroups)
	what := "calls moved: the row is the PE that calls, the column the PE whose memory it is"
	if m.Of == "network" {
		what = "operations of NICs moved: the row is the PE that posts, the column the other end"
	}
	fmt.Fprintf(b, "\nBytes that %s\n", what)
	head := []string{"PE"}
	for j := range m.Bytes {
		head = append(head, m.label(j, r.Job.NPEs))
	}
	rows := [][]string{head}
	for i, line := range m.Bytes {
		row := []string{m.label(i, r.Job.NPEs)}
		for j, n := range line {
			if m.Calls[i][j] == 0 {
				row = append(row, ".")
				continue
			}
			row = append(row, tracefile.Size(n))
		}
		rows = append(rows, row)
	}
	table(b, rows)
}

// sizeText writes the table of how many calls moved how many bytes each, with bars.
func (r *Report) sizeText(b *strings.Builder) {
	if len(r.Sizes) == 0 {
		return
	}
	b.WriteString("\nSizes of calls that move data\n")
	most := int64(0)
	for _, s := range r.Sizes {
		most = max(most, s.Calls)
	}
	rows := [][]string{{"size", "calls", "bytes", ""}}
	for _, s := range r.Sizes {
		bar := fmt.Sprintf("%-*s", barWidth, strings.Repeat("#", int((s.Calls*barWidth+most-1)/most)))
		rows = append(rows, []string{s.label(), withCommas(s.Calls), tracefile.Size(s.Bytes), bar})
	}
	table(b, rows)
}

// label returns the range of sizes of a row.
func (s *Size) label() string {
	switch {
	case s.To <= 1:
		return tracefile.Size(s.To)
	case s.To < 1024:
		return fmt.Sprintf("%d-%d B", s.From, s.To)
	}
	return roundSize(s.From) + " to " + roundSize(s.To+1)
}

// roundSize returns a power of two as a text without needless decimals: "64 KiB", and not "64.0
// KiB".
func roundSize(n int64) string {
	number, unit, _ := strings.Cut(tracefile.Size(n), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}
