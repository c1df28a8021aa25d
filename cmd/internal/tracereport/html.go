package tracereport

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"regexp"
	"slices"

	"libshmem/cmd/internal/tracefile"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"dur": tracefile.Duration, "size": tracefile.Size, "num": withCommas, "share": percent, "moved": sizeOrDash,
	"joined": func(s string) string { return beforeUnit.ReplaceAllString(s, "$1\u00a0$2") },
	"bar": func(n, most int64) float64 {
		if most <= 0 {
			return 0
		}
		return 100 * float64(n) / float64(most)
	},
}).Parse(pageText))

// beforeUnit matches the space between a number and its unit, where a line must not end.
var beforeUnit = regexp.MustCompile(`(\d) (%|(?:ns|us|ms|s|B|[KMGT]iB|PEs?|calls?|times?)\b)`)

// How many rows of each kind a page shows, at most.
const (
	pageFunctions = 40
	pageRows      = 10
	pagePEs       = 64
	pageGroups    = 32 // rows of the heat map
	valueGroups   = 12 // rows of a heat map whose cells have texts
)

// pageData is the report as the page needs it.
type pageData struct {
	Title, Line          string
	Percent              float64
	Notes, Summary       []string
	Functions, Network   []Function
	Counted              []Count
	MoreFunctions        string
	CallNs, MaxNs        int64
	Waited               bool
	Causers, PEs         []PE
	MoreCausers, MorePEs string
	Guesses              []guess
	MaxCaused            int64
	Worst                []worst
	Pairs                []Pair
	Heat                 *heat
	Shades               [shades + 1]struct{}
	Sizes                []sizeRow
	MaxSizes             int64
}

type guess struct {
	PE     int
	Writer string
	Ns     int64
	Times  int64
}

type worst struct {
	Instant
	Call string
}

type sizeRow struct {
	Size
	Label string
}

// heat is the heat map as a drawing: the positions and texts of its cells, rows and columns.
type heat struct {
	From, To          string
	Words             string
	Legend            []shade
	Width, Height     int
	Middle, Half      int // the middle of the cells, from the left and from the top
	Font, Small, Side int // font sizes of labels and of texts in cells, and the side of a cell
	Columns, Rows     []mark
	Cells             []cell
}

type mark struct {
	X, Y int
	Text string
}

type cell struct {
	X, Y, TX, TY, Class int
	Title, Text         string
	Dark                bool
}

// HTML writes the report as one page, which needs no other files.
func (r *Report) HTML(w io.Writer) error { return page.Execute(w, r.page()) }

// page returns the parts of the report that the page shows, at most the first rows of each table.
func (r *Report) page() *pageData {
	p := &pageData{
		Title: "What the PEs did", Percent: ErrorPercent, Notes: r.Notes, Summary: r.Summary,
		Functions: r.Functions, Counted: r.Counted[:min(len(r.Counted), pageFunctions)], Network: r.Network, CallNs: r.Job.CallNs, Waited: r.Waits.Ns > 0,
	}
	if r.Job.Program != "" {
		p.Title = "What the PEs of " + filepath.Base(r.Job.Program) + " did"
	}
	p.Line = fmt.Sprintf("A report of shmem-trace on %s", countOf(int64(r.Job.NPEs), "PE", "PEs"))
	if r.Job.Library != "" {
		p.Line += ", whose calls went to " + r.Job.Library
	}
	p.Line += "."
	if len(p.Functions) > pageFunctions {
		p.MoreFunctions = fmt.Sprintf("%d more functions took less time than these; shmem-trace report --json has them.", len(p.Functions)-pageFunctions)
		p.Functions = p.Functions[:pageFunctions]
	}
	if len(p.Functions) > 0 {
		p.MaxNs = p.Functions[0].Ns
	}
	if len(p.Network) > pageFunctions {
		p.Network = p.Network[:pageFunctions]
	}
	for _, row := range r.PEs {
		if row.CausedNs > 0 {
			p.Causers = append(p.Causers, row)
			p.MaxCaused = max(p.MaxCaused, row.CausedNs)
		}
	}
	slices.SortStableFunc(p.Causers, func(a, b PE) int { return cmp.Compare(b.CausedNs, a.CausedNs) })
	if len(p.Causers) > pageRows {
		p.MoreCausers = fmt.Sprintf("These are the worst %d of %d.", pageRows, len(p.Causers))
		p.Causers = p.Causers[:pageRows]
	}
	for i := range r.Waits.Worst[:min(len(r.Waits.Worst), pageRows)] {
		p.Worst = append(p.Worst, worst{r.Waits.Worst[i], r.Waits.Worst[i].callName()})
	}
	for i := range r.Guesses[:min(len(r.Guesses), pageRows)] {
		g := &r.Guesses[i]
		p.Guesses = append(p.Guesses, guess{g.Waiter, g.writerName(), g.Ns, g.Times})
	}
	p.Pairs = r.Waits.Pairs[:min(len(r.Waits.Pairs), pageRows)]
	if r.Job.Calls > 0 {
		p.PEs = r.PEs
	}
	if len(p.PEs) > pagePEs {
		p.MorePEs = fmt.Sprintf("These are the first %d of %d; shmem-trace report --json has them all.", pagePEs, len(p.PEs))
		p.PEs = p.PEs[:pagePEs]
	}
	for _, s := range r.Sizes {
		p.Sizes = append(p.Sizes, sizeRow{s, s.label()})
		p.MaxSizes = max(p.MaxSizes, s.Calls)
	}
	if !r.Matrix.empty() {
		p.Heat = r.heat()
	}
	return p
}

// heat returns the drawing of the matrix of bytes as a heat map: the positions, colours and texts
// of its cells and labels, in pixels. A digit is assumed to be 6/10 of its font size wide, and the
// middle of a text to be 35/100 of it above the base line.
func (r *Report) heat() *heat {
	m := r.Matrix.inGroups(pageGroups)
	n := len(m.Bytes)
	h := &heat{Side: min(640/n, 80), Font: 14, Small: 12}
	if n > 16 {
		h.Font = 11
	}
	h.From, h.To = "PE that calls", "PE whose memory it is"
	h.Words = "How much each PE (row) wrote to or read from the memory of each PE (column)."
	if m.Of == "network" {
		h.From, h.To = "PE that posts", "PE at the other end"
		h.Words = "How much each PE (row) sent to or read from each PE (column) by its network."
	}
	if m.Group > 1 {
		h.Words += fmt.Sprintf(" Each row and column stands for %d PEs.", m.Group)
	}
	s := newScale(m.Bytes)
	h.Legend = s.legend()
	label := len(m.label(n-1, r.Job.NPEs))
	left, top := 34+label*h.Font*6/10, 44
	h.Width, h.Height = left+n*h.Side+2, top+n*h.Side+2
	h.Middle, h.Half = left+n*h.Side/2, top+n*h.Side/2
	every := labelEvery(n, h.Side, label*h.Font*6/10+6)
	for i, row := range m.Bytes {
		if i%every == 0 {
			h.Columns = append(h.Columns, mark{left + i*h.Side + h.Side/2, top - 8, m.label(i, r.Job.NPEs)})
		}
		h.Rows = append(h.Rows, mark{left - 6, top + i*h.Side + h.Side/2 + h.Font*35/100, m.label(i, r.Job.NPEs)})
		for j, b := range row {
			c := cell{X: left + j*h.Side, Y: top + i*h.Side, Class: s.class(b)}
			c.TX, c.TY, c.Dark = c.X+h.Side/2, c.Y+h.Side/2+h.Small*35/100, c.Class > 4 // a light text
			c.Title = fmt.Sprintf("%s with the memory of %s: %s in %s", m.name(i), m.name(j), tracefile.Size(b), countOf(m.Calls[i][j], "call", "calls"))
			if n <= valueGroups && m.Calls[i][j] > 0 {
				c.Text = tracefile.Size(b)
			}
			h.Cells = append(h.Cells, c)
		}
	}
	return h
}
