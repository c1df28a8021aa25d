package figure

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"libshmem/cmd/internal/facts"
)

// TestPage: the page needs no other file, is well-formed, and has a chart for each measure, with a
// point for each size of each file inside of the drawing.
func TestPage(t *testing.T) {
	var sets []*Set
	for i, name := range []string{"dir/a.jsonl", "dir/b <2>.jsonl"} {
		s := &Set{Name: name, Runs: []*Run{{ID: "1", Library: "libshmem", Hosts: []facts.Host{{CPU: "R&D 9000", Load: float64(3 - i)}}}}}
		for size := int64(8); size <= 1<<20; size *= 16 {
			f := made("1", "put", "latency", "us", float64(i+1)*float64(size)/1000)
			f.Size = size
			s.Figures = append(s.Figures, f)
		}
		barrier := made("1", "barrier", "latency", "us", 0.5)
		barrier.Size = 0
		s.Figures = append(s.Figures, barrier)
		sets = append(sets, s)
	}
	var out strings.Builder
	if err := Page(&out, sets); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, no := range []string{"http:", "https:", "src=", "<script", "NaN", "Inf", "%!"} {
		if strings.Contains(text, no) {
			t.Errorf("the page has %q", no)
		}
	}
	for _, want := range []string{"R&amp;D 9000", "b &lt;2&gt;.jsonl", "put latency, us", "barrier latency, us", "load 2.0 to 3.0</p>", ">0.01</text>", ">1</text>", ">10</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	barrier := text[strings.Index(text, "barrier latency, us"):]
	if n := strings.Count(barrier, "text-anchor=\"middle\""); n > 0 {
		t.Errorf("%d sizes below the chart of an operation that has none", n)
	}
	d := xml.NewDecoder(strings.NewReader(text[strings.Index(text, "<body>") : strings.Index(text, "</body>")+len("</body>")]))
	count := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		count[e.Name.Local]++
		for _, a := range e.Attr {
			v, err := strconv.ParseFloat(a.Value, 64)
			limit := map[string]float64{"cx": width, "x1": width, "x2": width, "x": width, "cy": height, "y1": height, "y2": height, "y": height}[a.Name.Local]
			if limit > 0 && (err != nil || v < 0 || v > limit) {
				t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	if got, want := fmt.Sprint(count["svg"], count["path"], count["circle"]), "2 4 12"; got != want {
		t.Errorf("%s drawings, curves and points, want %s", got, want)
	}
}
