package figure

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageHead string

// A chart has one measure of one test, with a curve for each file and number of PEs.
type chart struct {
	Title, Until, Unit string
	Curves             []curve
	XTicks, YTicks     []tick
}

type curve struct {
	Name   string
	Color  int
	Points []point
	Path   string // of SVG
}

type point struct {
	X, Y, Low, High float64 // pixels in the drawing
	Text            string
}

type tick struct {
	At   float64
	Text string
}

// The drawing of a chart, in pixels.
const (
	width, height = 640, 320
	left, right   = 64, 16
	top, bottom   = 12, 36
	colors        = 8
	spare         = 0.06 // part of the axis of values that is free above, and below, the curves
	leastRange    = 1.05 // the axis of values is widened if largest / smallest is less
)

// Page writes figures as one page that a browser shows without a network. It does not use Go's
// html/template, with which the command would be half as large again.
func Page(w io.Writer, sets []*Set) error {
	var b bytes.Buffer
	var rules, files strings.Builder
	hosts := machines{loads: map[string][2]float64{}}
	for i := range colors {
		fmt.Fprintf(&rules, ".s%d { stroke: var(--c%d); } .f%d { fill: var(--c%d); } .k%d { background: var(--c%d); }\n", i, i, i, i, i, i)
	}
	b.WriteString(strings.Replace(pageHead, "/* colors */\n", rules.String(), 1))
	var order []string
	var rows []*Figure
	ofChart := map[string][]*Figure{} // by the chart's title
	name := map[*Figure]string{}      // of the figure's curve
	for i, s := range sets {
		if i > 0 {
			files.WriteString(", ")
		}
		files.WriteString(filepath.Base(s.Name))
		for _, r := range s.Runs {
			hosts.add(r)
		}
		figures := byKey(s)
		for _, key := range keys(s) {
			f := *figures[key][0]
			if len(figures[key]) > 1 { // of several runs
				sample := medianOf(figures[key])
				f.Median, f.Low, f.High = sample.Median, sample.Low, sample.High
			}
			chart := f.Test + " " + f.Measure
			if f.Scope != "host" {
				chart += " by " + f.Scope
			}
			if ofChart[chart] == nil {
				order = append(order, chart)
			}
			ofChart[chart] = append(ofChart[chart], &f)
			name[&f] = fmt.Sprintf("%s, %d PEs, %s", filepath.Base(s.Name), f.PEs, key.Over())
			if f.System != Ours {
				name[&f] = f.System + ", " + name[&f]
			}
			rows = append(rows, &f)
		}
	}
	b.WriteString(htmlText("<body>\n<h1>Figures of %s</h1>\n", files.String()) + hosts.html())
	b.WriteString("<p class=\"soft\">Medians of batches, by bytes of an operation; the thin lines are their intervals of confidence. Both axes are logarithmic.</p>\n<div class=\"charts\">\n")
	for _, title := range order {
		newChart(title, ofChart[title], name).write(&b)
	}
	b.WriteString("</div>\n<div class=\"wide\"><table>\n<tr>")
	for _, title := range []string{"curve", "figure", "size", "median", "low", "high", "unit"} {
		b.WriteString(htmlText("<th>%s</th>", title))
	}
	b.WriteString("</tr>\n")
	for _, f := range rows {
		b.WriteString(htmlText("<tr><td>%s</td><td>%s %s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			name[f], f.Test, f.Measure, strconv.FormatInt(f.Size, 10), Number(f.Median), Number(f.Low), Number(f.High), f.Unit))
	}
	b.WriteString("</table></div>\n</body>\n</html>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// htmlText returns a piece of HTML made by a format. The texts are escaped, the format is not.
func htmlText(format string, texts ...string) string {
	var all []any
	for _, t := range texts {
		all = append(all, html.EscapeString(t))
	}
	return fmt.Sprintf(format, all...)
}

// write writes the chart as HTML: a title, a drawing in SVG, and a legend with the names of the
// curves.
func (c chart) write(b *bytes.Buffer) {
	b.WriteString(htmlText("<section>\n<h2>%s, %s</h2>\n<p class=\"soft\">until %s</p>\n", c.Title, c.Unit, c.Until))
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s by size\">\n", width, height, html.EscapeString(c.Title))
	for _, t := range c.YTicks {
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%g\" y2=\"%g\"/><text x=\"%d\" y=\"%g\" dy=\"4\" text-anchor=\"end\">%s</text>\n",
			left, width-right, t.At, t.At, left-6, t.At, t.Text)
	}
	for _, t := range c.XTicks {
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%d\" y2=\"%d\"/><text x=\"%g\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			t.At, t.At, top, height-bottom, t.At, height-bottom+18, t.Text)
	}
	for _, one := range c.Curves {
		fmt.Fprintf(b, "<path class=\"curve s%d\" d=\"%s\"/>\n", one.Color, one.Path)
		for _, p := range one.Points {
			fmt.Fprintf(b, "<line class=\"s%d\" x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>", one.Color, p.X, p.X, p.Low, p.High)
			fmt.Fprintf(b, "<circle class=\"f%d\" cx=\"%g\" cy=\"%g\" r=\"3.5\"><title>%s</title></circle>\n", one.Color, p.X, p.Y, html.EscapeString(p.Text))
		}
	}
	b.WriteString("</svg>\n<ul class=\"legend\">")
	for _, one := range c.Curves {
		fmt.Fprintf(b, "<li><span class=\"k%d\"></span>%s</li>", one.Color, html.EscapeString(one.Name))
	}
	b.WriteString("</ul>\n</section>\n")
}

// machines lists the machines of PE 0 in all runs, each once, with the smallest and the largest
// load.
type machines struct {
	names []string
	loads map[string][2]float64
}

// add adds the machine of PE 0 in a run to the list, or widens the range of its load.
func (m *machines) add(r *Run) {
	if len(r.Hosts) == 0 {
		return
	}
	h := r.Hosts[0]
	name := fmt.Sprintf("%s: %s, %d processors, %.1f GiB, Linux %s", r.Library, h.CPU, h.Online, h.MemoryGiB, h.Kernel)
	loads, ok := m.loads[name]
	if !ok {
		m.names, loads = append(m.names, name), [2]float64{h.Load, h.Load}
	}
	m.loads[name] = [2]float64{min(loads[0], h.Load), max(loads[1], h.Load)}
}

// html returns a paragraph of HTML for each machine, with the range of its load.
func (m *machines) html() string {
	var b strings.Builder
	for _, name := range m.names {
		load := fmt.Sprintf("%.1f", m.loads[name][0])
		if most := fmt.Sprintf("%.1f", m.loads[name][1]); most != load {
			load += " to " + most
		}
		b.WriteString(htmlText("<p class=\"soft\">%s, load %s</p>\n", name, load))
	}
	return b.String()
}

// axis maps values to pixels by their logarithm.
type axis struct{ least, most, from, to float64 }

// at returns the pixel of a value.
func (a axis) at(v float64) float64 {
	if a.most <= a.least {
		return (a.from + a.to) / 2
	}
	at := a.from + (a.to-a.from)*(math.Log(v)-math.Log(a.least))/(math.Log(a.most)-math.Log(a.least))
	return math.Round(at*10) / 10
}

// newChart makes the chart of one measure from its figures: a curve for each of the names, which
// figures of one curve share, and the ticks of both axes. Positions are in pixels.
func newChart(title string, all []*Figure, name map[*Figure]string) chart {
	c := chart{Title: title, Until: all[0].Until, Unit: all[0].Unit}
	x := axis{math.Inf(1), 0, left, width - right}
	y := axis{math.Inf(1), 0, height - bottom, top}
	for _, f := range all {
		size := float64(max(f.Size, 1))
		x.least, x.most = min(x.least, size), max(x.most, size)
		if f.Low > 0 {
			y.least = min(y.least, f.Low)
		}
		y.most = max(y.most, f.High)
	}
	if y.most < y.least*leastRange {
		y.least, y.most = y.least/leastRange, y.most*leastRange
	}
	// A factor, because the axis is logarithmic.
	margin := math.Exp(spare * (math.Log(y.most) - math.Log(y.least)))
	y.least, y.most = y.least/margin, y.most*margin
	for _, f := range all {
		at := slices.IndexFunc(c.Curves, func(one curve) bool { return one.Name == name[f] })
		if at < 0 {
			at = len(c.Curves)
			c.Curves = append(c.Curves, curve{Name: name[f], Color: at % colors})
		}
		c.Curves[at].Points = append(c.Curves[at].Points, point{
			x.at(float64(max(f.Size, 1))), y.at(f.Median), y.at(max(f.Low, y.least)), y.at(f.High),
			fmt.Sprintf("%s: %s %s [%s, %s]", Bytes(f.Size), Number(f.Median), f.Unit, Number(f.Low), Number(f.High)),
		})
	}
	for i := range c.Curves {
		points := c.Curves[i].Points
		slices.SortFunc(points, func(a, b point) int { return int(math.Copysign(1, a.X-b.X)) })
		var path strings.Builder
		for j, p := range points {
			fmt.Fprintf(&path, "%c%g %g", "ML"[min(j, 1)], p.X, p.Y)
		}
		c.Curves[i].Path = path.String()
	}
	c.XTicks, c.YTicks = sizeTicks(x), valueTicks(y)
	return c
}

// sizeTicks returns the ticks of the axis of sizes: at most eight powers of 2, and none if no
// operation has a size.
func sizeTicks(x axis) (out []tick) {
	if x.most <= 1 {
		return nil
	}
	first, last := int(math.Ceil(math.Log2(x.least))), int(math.Floor(math.Log2(x.most)))
	step := max((last-first+7)/8, 1)
	for n := first; n <= last; n += step {
		out = append(out, tick{x.at(math.Exp2(float64(n))), Bytes(int64(1) << n)})
	}
	return out
}

// valueTicks returns ticks at 1, 2 and 5 of each decade, or only at 1 if there are many decades.
func valueTicks(y axis) (out []tick) {
	digits := []float64{1, 2, 5}
	if y.most/y.least > 1000 {
		digits = digits[:1]
	}
	for e := math.Floor(math.Log10(y.least)); e <= math.Ceil(math.Log10(y.most)); e++ {
		for _, d := range digits {
			if v := d * math.Pow(10, e); v >= y.least && v <= y.most {
				out = append(out, tick{y.at(v), strconv.FormatFloat(v, 'f', max(int(-e), 0), 64)})
			}
		}
	}
	if len(out) == 0 {
		out = []tick{{y.at(y.least), Number(y.least)}, {y.at(y.most), Number(y.most)}}
	}
	return out
}
