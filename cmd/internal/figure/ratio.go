package figure

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// PrintRatios prints the figures that another library or program beside libshmem has as well: the
// medians of both over all starts, and ours divided by the other's. It prints nothing if there are
// none.
func PrintRatios(w io.Writer, s *Set) {
	figures, rivals := byKey(s), []string{}
	seen := map[string]bool{Ours: true}
	for _, f := range s.Figures {
		if !seen[f.System] {
			seen[f.System] = true
			rivals = append(rivals, f.System)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, rival := range rivals {
		title := fmt.Sprintf("\n# libshmem and %s: medians of all starts, and their ratio\nfigure\tsize\tunit\tlibshmem\t%s\tratio\t\n", rival, rival)
		for _, key := range keys(s) {
			other := key
			other.System = rival
			if key.System != Ours || figures[other] == nil {
				continue
			}
			ours, theirs := medianOf(figures[key]).Median, medianOf(figures[other]).Median
			ratio := "" // none if the other's median is 0, after an error of its clock
			if theirs > 0 {
				ratio = fmt.Sprintf("%.2f", ours/theirs)
			}
			fmt.Fprintf(t, "%s%s\t%s\t%s\t%s\t%s\t%s\t\n", title, key.Name(), Bytes(key.Size), figures[key][0].Unit, Number(ours), Number(theirs), ratio)
			title = ""
		}
	}
	_ = t.Flush() // an error of w is found when w is closed
}
