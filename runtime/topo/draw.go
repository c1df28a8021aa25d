package topo

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// branch is a part of the drawing: a socket, a NUMA node, a bridge or a device.
type branch struct {
	key   string
	text  string
	below []*branch
}

// at returns the part of the drawing below b that has a key, which it adds with the text if it is
// missing.
func (b *branch) at(key, text string) *branch {
	for _, c := range b.below {
		if c.key == key {
			return c
		}
	}
	c := &branch{key: key, text: text}
	b.below = append(b.below, c)
	return c
}

// Draw writes the tree of a machine with the devices behind each bridge. After an arrow it writes
// the NICs that a GPU gets by the plan, and the users of a NIC.
func (m *Machine) Draw(w io.Writer, r Request, picks [][]Pick) error {
	name := m.Name
	if name == "" {
		name = "machine"
	}
	root := &branch{text: fmt.Sprintf("%s: %s, %s, %s, %s, %s (%s)", name, count(len(m.Packages), "socket"), count(len(m.Nodes), "NUMA node"),
		count(m.CPUs.Count(), "processor"), count(len(m.Of(GPU)), "GPU"), count(len(m.Of(RDMA))+len(m.Of(Ethernet)), "NIC"), m.Source)}
	for i, p := range m.Packages {
		socket := root.at(string(p), fmt.Sprintf("socket %d", i))
		for _, n := range m.Nodes {
			if n.CPUs.Within(p) {
				socket.at(string(n.CPUs), fmt.Sprintf("NUMA node %d, processors %s", n.Number, n.CPUs))
			}
		}
	}
	notes := m.notes(r, picks)
	devices := slices.Concat(m.Of(GPU), m.Of(RDMA), m.Of(Ethernet))
	slices.SortStableFunc(devices, func(a, b *Device) int { return cmp.Compare(a.PCI, b.PCI) })
	for _, d := range devices {
		b := m.above(root, d)
		for i, id := range d.Bridges {
			if i == 0 {
				b = b.at(id, "root complex "+id)
			} else {
				b = b.at(id, "switch "+id)
			}
		}
		b.at("device "+d.PCI, notes[d.PCI])
	}
	root.shorten()
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, root.text)
	root.write(out, "")
	return out.Flush()
}

// above returns the part of the drawing below which a device's root complex stands: a NUMA node, a
// socket, the machine, or a part of its own for devices whose near processors are not known.
func (m *Machine) above(root *branch, d *Device) *branch {
	if d.CPUs == "" {
		return root.at("nowhere", "near to no socket, or not known to which")
	}
	for _, p := range m.Packages {
		if !d.CPUs.Within(p) {
			continue
		}
		socket := root.at(string(p), "")
		for _, n := range m.Nodes {
			if d.CPUs.Within(n.CPUs) && n.CPUs.Within(p) {
				return socket.at(string(n.CPUs), "")
			}
		}
		return socket
	}
	return root
}

// shorten leaves out bridges below which there is only one part: they are ports of a switch or of
// the processor, and would only make the drawing deeper.
func (b *branch) shorten() {
	for i, c := range b.below {
		for strings.HasPrefix(c.text, "switch ") && len(c.below) == 1 {
			c = c.below[0]
			b.below[i] = c
		}
		c.shorten()
	}
}

// write writes the parts below b, each with a mark that connects it to b. indent is the text before
// each mark, with the lines of the branches further up.
func (b *branch) write(w *bufio.Writer, indent string) {
	for i, c := range b.below {
		mark, next := "├─ ", "│  "
		if i == len(b.below)-1 {
			mark, next = "└─ ", "   "
		}
		fmt.Fprintf(w, "%s%s%s\n", indent, mark, c.text)
		c.write(w, indent+next)
	}
}

// notes returns the text of each device in the drawing, by its PCI address: its names, its NIC's
// speed, and which GPU uses which NIC by the plan (picks).
func (m *Machine) notes(r Request, picks [][]Pick) map[string]string {
	takes := map[string][]string{} // by PCI address of a GPU: the names of its NICs
	users := map[string][]string{} // by PCI address of a NIC: its users
	for pe, list := range picks {
		for _, p := range list {
			nic := r.NICs[p.NIC]
			if g := r.PEs[pe].GPU; g != "" && !slices.Contains(takes[address(g)], nic.Name) {
				takes[address(g)] = append(takes[address(g)], nic.Name)
			}
			if d := m.Find(nic.PCI, nic.Name); d != nil {
				users[d.PCI] = append(users[d.PCI], m.who(r.PEs[pe], pe))
			}
		}
	}
	notes := map[string]string{}
	for i, d := range m.Of(GPU) {
		notes[d.PCI] = strings.TrimSpace(fmt.Sprintf("GPU %d  %s  %s", i, d.PCI, strings.Join(d.Names, " ")))
		if t := takes[d.PCI]; len(t) > 0 {
			notes[d.PCI] += "  -> " + strings.Join(t, ", ")
		}
	}
	for _, d := range slices.Concat(m.Of(RDMA), m.Of(Ethernet)) {
		text := fmt.Sprintf("NIC %s  %s", d.Name(), d.PCI)
		if len(d.Names) > 1 {
			text += "  " + strings.Join(d.Names[1:], " ")
		}
		if d.Speed > 0 {
			text += fmt.Sprintf("  %.1f GB/s", d.Speed)
		}
		if u := users[d.PCI]; len(u) > 0 {
			text += "  <- " + strings.Join(slices.Compact(u), ", ")
		}
		notes[d.PCI] = text
	}
	return notes
}

// who describes a PE in a table: its GPU, or its number and the NUMA node of its processors.
func (m *Machine) who(p Process, pe int) string {
	if p.GPU != "" {
		for i, d := range m.Of(GPU) {
			if d.PCI == address(p.GPU) {
				return fmt.Sprintf("GPU %d", i)
			}
		}
		return "GPU at " + p.GPU
	}
	if n := m.Near(Place{CPUs: p.CPUs}); n != nil {
		return fmt.Sprintf("PE %d on NUMA node %d", pe, n.Number)
	}
	return fmt.Sprintf("PE %d on any processor", pe)
}

// Choice is a NIC that a PE uses, with the reason.
type Choice struct {
	User     string `json:"user"`
	NIC      string `json:"nic"`
	Distance string `json:"distance"`
	Why      string `json:"why"`
}

// Choices lists each NIC that the plan (picks) assigns to a PE, with its distance and the reason.
func (m *Machine) Choices(r Request, picks [][]Pick) (all []Choice) {
	for pe, list := range picks {
		for _, p := range list {
			all = append(all, Choice{m.who(r.PEs[pe], pe), r.NICs[p.NIC].Name, fmt.Sprintf("%s, %s", p.Class.Short(), p.Class), p.Why})
		}
	}
	return all
}

// Table writes the list of Choices, and the names of the NICs that the plan assigns to no PE.
func (m *Machine) Table(w io.Writer, r Request, picks [][]Pick) error {
	if len(r.NICs) == 0 {
		_, err := fmt.Fprintln(w, "no NIC, so there is nothing to choose")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "user\tNIC\tdistance\twhy")
	for _, c := range m.Choices(r, picks) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.User, c.NIC, c.Distance, c.Why)
	}
	var idle []string
	for n, nic := range r.NICs {
		if !slices.ContainsFunc(picks, func(list []Pick) bool {
			return slices.ContainsFunc(list, func(p Pick) bool { return p.NIC == n })
		}) {
			idle = append(idle, nic.Name)
		}
	}
	if err := t.Flush(); err != nil || len(idle) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "not taken by these: %s\n", strings.Join(idle, ", "))
	return err
}

// count returns a number and its noun: 1 socket, 2 sockets.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
