package pathmap

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"libshmem"
	"libshmem/runtime/topo"
)

// drawn is the most PEs whose paths are drawn one by one: as many columns fit a screen.
const drawn = 64

// view is one of the two kinds of operations, and the meanings of its letters.
type view struct {
	title   string
	legends []legend
	of      func(m *Map, from, to libshmem.PE) Path
}

type legend struct {
	path Path
	text string
}

var host = view{"calls of the host", []legend{
	{Own, "its own"}, {Memory, "shared memory"}, {Copy, "a copy engine of the GPU"}, {Network, "network"},
}, (*Map).Host}

var kernels = view{"kernels", []legend{
	{Own, "its own"}, {Direct, "loads and stores of the GPU"}, {Copy, "ring, proxy and a copy engine"}, {Network, "ring, proxy and network"},
	{None, "runs no kernels"},
}, (*Map).Kernels}

// views are the kinds that the job has.
func (m *Map) views() []view {
	if slices.ContainsFunc(m.rows, func(r Row) bool { return r.Kernels != "" }) {
		return []view{host, kernels}
	}
	return []view{host}
}

// Print writes the map: each PE by itself, or of a large job each kind of host.
func (m *Map) Print(w io.Writer) error {
	var b strings.Builder
	n := len(m.rows)
	fmt.Fprintf(&b, "shmem: map of %s on %s: how each PE, a line, gets to the heap of each, a column\n", count(n, "PE"), count(len(m.nodes.Members), "host"))
	var err error
	if n <= drawn {
		err = m.each(&b)
	} else {
		err = m.kinds(&b)
	}
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return err
}

// each draws all PEs.
func (m *Map) each(b *strings.Builder) error {
	all := make([]libshmem.PE, len(m.rows))
	for i := range all {
		all[i] = libshmem.PE(i)
	}
	for _, v := range m.views() {
		fmt.Fprintf(b, "%s:\n", v.title)
		digits := len(strconv.Itoa(len(all) - 1))
		for line := range digits {
			fmt.Fprintf(b, "  %*s ", digits, "")
			for _, pe := range all {
				fmt.Fprintf(b, " %c", fmt.Sprintf("%*d", digits, pe)[line])
			}
			fmt.Fprintln(b)
		}
		used := map[Path]bool{}
		for _, from := range all {
			fmt.Fprintf(b, "  %*d ", digits, from)
			for _, to := range all {
				path := v.of(m, from, to)
				used[path] = true
				fmt.Fprintf(b, " %c", path)
			}
			fmt.Fprintln(b)
		}
		v.explain(b, used)
	}
	m.reasons(b, all, "PE")
	return m.table(b, all, "PEs", true)
}

// explain explains the letters in use.
func (v *view) explain(b *strings.Builder, used map[Path]bool) {
	var parts []string
	for _, l := range v.legends {
		if used[l.path] {
			parts = append(parts, fmt.Sprintf("%c %s", l.path, l.text))
		}
	}
	fmt.Fprintf(b, "  %s\n", strings.Join(parts, ", "))
}

// group puts elements with the same key together, in the order in which they come.
func group[K comparable](n int, key func(i int) K) (order []K, who map[K][]int) {
	who = map[K][]int{}
	for i := range n {
		k := key(i)
		if who[k] == nil {
			order = append(order, k)
		}
		who[k] = append(who[k], i)
	}
	return order, who
}

// reasons lists why PEs do not go a shorter way within their host.
func (m *Map) reasons(b *strings.Builder, pes []libshmem.PE, what string) {
	order, who := group(len(pes), func(i int) string { return strings.Join(m.rows[pes[i]].Why, "; ") })
	for _, why := range order {
		if why != "" {
			fmt.Fprintf(b, "%s: %s\n", ranges(what, who[why]), why)
		}
	}
}

// end describes a PE at one end of a path, for the text.
type end struct {
	node                     int
	name, heap, gpu, network string
}

func (m *Map) end(pe libshmem.PE, hosts bool) end {
	r := &m.rows[pe]
	e := end{heap: r.Heap, gpu: r.GPU, network: "none needed"}
	if hosts {
		e.node, e.name = m.nodes.Node(pe), r.Name
	}
	if r.Reached != "" {
		e.heap += ", " + r.Reached
	}
	if e.gpu == "" {
		e.gpu = "-"
	}
	if r.Provider != "" {
		e.network = r.Provider + " on " + r.NICs
		if r.Eager != "" {
			e.network += ", eager " + r.Eager
		}
	}
	return e
}

// table has the ends of PEs, with one line for all that are alike. hosts: the PEs are of several.
func (m *Map) table(b *strings.Builder, pes []libshmem.PE, what string, hosts bool) error {
	order, who := group(len(pes), func(i int) end { return m.end(pes[i], hosts) })
	some := slices.ContainsFunc(order, func(e end) bool { return e.gpu != "-" })
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(first, host, heap, gpu, network string) {
		cells := []string{first}
		if hosts {
			cells = append(cells, host)
		}
		if cells = append(cells, heap); some {
			cells = append(cells, gpu)
		}
		fmt.Fprintln(t, strings.Join(append(cells, network), "\t"))
	}
	line(what, "host", "heap", "GPU", "network")
	for _, e := range order {
		line(list(who[e]), fmt.Sprintf("%d %s", e.node, e.name), e.heap, e.gpu, e.network)
	}
	return t.Flush()
}

// count is a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// ranges are numbers of things.
func ranges(what string, numbers []int) string {
	if len(numbers) > 1 {
		what += "s"
	}
	return what + " " + list(numbers)
}

// listed is the number of parts that a list of numbers has at most.
const listed = 8

// list is ascending numbers as people write them: 0-3,8.
func list(numbers []int) string {
	runs, left := topo.Runs(numbers), 0
	for ; len(runs) > listed; runs = runs[:len(runs)-1] {
		left += runs[len(runs)-1].Len()
	}
	if left == 0 {
		return topo.JoinRuns(runs)
	}
	return fmt.Sprintf("%s and %d more", topo.JoinRuns(runs), left)
}
