package pathmap

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"libshmem"
)

// kinds prints the map of a large job: the network path between hosts, and one host of each kind,
// because most hosts are alike. Hosts are of one kind if their PEs have the same rows.
func (m *Map) kinds(b *strings.Builder) error {
	if len(m.nodes.Members) > 1 {
		b.WriteString("between hosts:")
		for i, v := range m.views() {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(b, " %s by %s", v.title, v.text(Network))
		}
		b.WriteByte('\n')
	}
	order, hostsOf := group(len(m.nodes.Members), func(node int) string {
		var key strings.Builder
		for _, pe := range m.nodes.Members[node] {
			r := m.rows[pe]
			r.Name = ""
			fmt.Fprintf(&key, "%q", r)
		}
		return key.String()
	})
	for _, kind := range order {
		hosts := hostsOf[kind]
		first := m.nodes.Members[hosts[0]]
		numbers := make([]int, len(first))
		for i, pe := range first {
			numbers[i] = int(pe)
		}
		if len(hosts) > 1 {
			fmt.Fprintf(b, "%s, each with %s as ", ranges("host", hosts), count(len(first), "PE"))
		}
		fmt.Fprintf(b, "host %d, %s, with %s\n", hosts[0], m.rows[first[0]].Name, ranges("PE", numbers))
		if err := m.kind(b, first); err != nil {
			return err
		}
	}
	return nil
}

// text returns what a letter of the map means in this view; "" for a letter that the view does not
// use.
func (v *view) text(w Path) string {
	for _, l := range v.legends {
		if l.path == w {
			return l.text
		}
	}
	return ""
}

// kind prints the map of one host, by the places of its PEs there (0, 1, ...). PEs with the same
// paths share a line and a column.
func (m *Map) kind(b *strings.Builder, pes []libshmem.PE) error {
	views := m.views()
	classes := m.classes(views, pes)
	for _, v := range views {
		fmt.Fprintf(b, "%s, by the place of a PE on its host:\n", v.title)
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprint(t, "  ")
		for _, to := range classes {
			fmt.Fprintf(t, "\t%s", list(to))
		}
		fmt.Fprintln(t)
		used := map[Path]bool{}
		for _, from := range classes {
			fmt.Fprintf(t, "  %s", list(from))
			for _, to := range classes {
				// The first PE of a class is the sender, and the last the target: within one class
				// of several PEs these are two different PEs.
				path := v.of(m, pes[from[0]], pes[to[len(to)-1]])
				used[path] = true
				fmt.Fprintf(t, "\t%c", path)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		v.explain(b, used)
	}
	m.reasons(b, pes, "place")
	return m.table(b, pes, "places", false)
}

// classes groups the PEs of a host that have equal paths to the others, so that the map has a line
// for each group. Each group lists the indexes of its PEs.
func (m *Map) classes(views []view, pes []libshmem.PE) [][]int {
	var all [][]int
	for place, pe := range pes {
		class := 0
		for class < len(all) && !m.alike(views, pes, pes[all[class][0]], pe) {
			class++
		}
		if class == len(all) {
			all = append(all, nil)
		}
		all[class] = append(all[class], place)
	}
	return all
}

// alike reports whether two PEs of a host have the same paths to all others and to each other, and
// all others the same paths to both. This is transitive, so that such PEs form classes.
func (m *Map) alike(views []view, pes []libshmem.PE, a, b libshmem.PE) bool {
	for _, v := range views {
		if v.of(m, a, a) != v.of(m, b, b) || v.of(m, a, b) != v.of(m, b, a) {
			return false
		}
		for _, c := range pes {
			if c != a && c != b && (v.of(m, a, c) != v.of(m, b, c) || v.of(m, c, a) != v.of(m, c, b)) {
				return false
			}
		}
	}
	return true
}
