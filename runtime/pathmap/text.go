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

// maxDrawn is the most PEs for which Print draws a line and a column for each PE: as many fit a
// screen.
const maxDrawn = 64

// view is one of the two tables of the map, for calls of the host or for kernels, with the meanings
// of its letters.
type view struct {
	title   string
	legends []legend
	of      func(m *Map, from, to libshmem.PE) Path
}

// legend is what a letter means in a view.
type legend struct {
	path Path
	text string
}

// host is the view of calls that the host makes.
var host = view{"calls of the host", []legend{
	{Own, "its own"}, {Memory, "shared memory"}, {Copy, "a copy engine of the GPU"}, {Network, "network"},
}, (*Map).Host}

// kernels is the view of calls that kernels make.
var kernels = view{"kernels", []legend{
	{Own, "its own"}, {Direct, "loads and stores of the GPU"}, {Copy, "ring, proxy and a copy engine"}, {Network, "ring, proxy and network"},
	{None, "runs no kernels"},
}, (*Map).Kernels}

// views returns the tables that the map of this job has: that of kernels only if a PE runs kernels.
func (m *Map) views() []view {
	if slices.ContainsFunc(m.rows, func(r Row) bool { return r.Kernels != "" }) {
		return []view{host, kernels}
	}
	return []view{host}
}

// Print writes the map as text: a line for each PE or, for a large job, one table for each kind of
// host.
func (m *Map) Print(w io.Writer) error {
	var b strings.Builder
	n := len(m.rows)
	fmt.Fprintf(&b, "shmem: map of %s on %s: how each PE, a line, gets to the heap of each, a column\n", count(n, "PE"), count(len(m.nodes.Members), "host"))
	var err error
	if n <= maxDrawn {
		err = m.each(&b)
	} else {
		err = m.kinds(&b)
	}
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return err
}

// each prints the map of a small job, with a line and a column for each PE. The numbers above the
// columns are written downwards.
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

// explain prints what the letters that the map has used mean.
func (v *view) explain(b *strings.Builder, used map[Path]bool) {
	var parts []string
	for _, l := range v.legends {
		if used[l.path] {
			parts = append(parts, fmt.Sprintf("%c %s", l.path, l.text))
		}
	}
	fmt.Fprintf(b, "  %s\n", strings.Join(parts, ", "))
}

// group groups the elements 0 to n-1 by their keys. order lists the keys in the order in which they
// first appear, and members the elements of each key.
func group[K comparable](n int, key func(i int) K) (order []K, members map[K][]int) {
	members = map[K][]int{}
	for i := range n {
		k := key(i)
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], i)
	}
	return order, members
}

// reasons prints why PEs do not use a faster path within their host. what is the noun for PEs in
// the text.
func (m *Map) reasons(b *strings.Builder, pes []libshmem.PE, what string) {
	order, pesOf := group(len(pes), func(i int) string { return strings.Join(m.rows[pes[i]].Why, "; ") })
	for _, why := range order {
		if why != "" {
			fmt.Fprintf(b, "%s: %s\n", ranges(what, pesOf[why]), why)
		}
	}
}

// peInfo describes a PE in the map's last table: its host, heap, GPU and network.
type peInfo struct {
	node                     int
	name, heap, gpu, network string
}

// describe returns the description of a PE, with its host only if hosts is true.
func (m *Map) describe(pe libshmem.PE, hosts bool) peInfo {
	r := &m.rows[pe]
	e := peInfo{heap: r.Heap, gpu: r.GPU, network: "none needed"}
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

// table prints the heap, GPU and network of PEs, with one line for all PEs that are alike. what is
// the title of the first column. If hosts is true, the PEs are on several hosts, and the table
// names them.
func (m *Map) table(b *strings.Builder, pes []libshmem.PE, what string, hosts bool) error {
	order, pesOf := group(len(pes), func(i int) peInfo { return m.describe(pes[i], hosts) })
	someGPU := slices.ContainsFunc(order, func(e peInfo) bool { return e.gpu != "-" })
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(first, host, heap, gpu, network string) {
		cells := []string{first}
		if hosts {
			cells = append(cells, host)
		}
		if cells = append(cells, heap); someGPU {
			cells = append(cells, gpu)
		}
		fmt.Fprintln(t, strings.Join(append(cells, network), "\t"))
	}
	line(what, "host", "heap", "GPU", "network")
	for _, e := range order {
		line(list(pesOf[e]), fmt.Sprintf("%d %s", e.node, e.name), e.heap, e.gpu, e.network)
	}
	return t.Flush()
}

// count returns a number with its noun: "1 PE", "2 PEs".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// ranges returns a noun with ascending numbers: "PE 3", "PEs 0-3,8".
func ranges(what string, numbers []int) string {
	if len(numbers) > 1 {
		what += "s"
	}
	return what + " " + list(numbers)
}

// listed caps the ranges that list prints.
const listed = 8

// list returns ascending numbers as ranges: "0-3,8". After `listed` ranges it only says how many
// numbers follow.
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
