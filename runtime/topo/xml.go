package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"libshmem/runtime/shmerr"
)

// Bounds of the input. The largest known machine has a tenth of them.
const (
	maxXML     = 64 << 20 // bytes
	maxDevices = 4096     // PCI devices
	maxDepth   = 256      // elements around an element
)

// ReadXML reads the description of a machine that lstopo or runtime/topo/hwloc has written in the
// format of hwloc 2. source names the description in errors and in Machine.Source. ReadXML does not
// use hwloc, which reports a damaged file without the place of the damage.
func ReadXML(text []byte, source string) (*Machine, error) {
	r := &reader{dec: xml.NewDecoder(bytes.NewReader(text)), m: Machine{Source: source}}
	var err error
	if len(text) > maxXML {
		err = fmt.Errorf("%d bytes, expected %d at most", len(text), maxXML)
	} else if err = r.read(); err == nil {
		err = r.finish()
	}
	if err != nil {
		return nil, &shmerr.Error{
			Op: "read topology", Object: source, Cause: shmerr.Causef(shmerr.ErrArgument, "%w", err),
			Remedy: "write it by lstopo --of xml of hwloc 2, with --whole-io",
		}
	}
	return &r.m, nil
}

// reader is the state of a call of ReadXML.
type reader struct {
	dec   *xml.Decoder
	m     Machine
	stack []object
	seen  bool // the object of type Machine has begun
}

// object is an element of the file that has begun and not ended. An object without a value of its
// own for a member has that of the element around it.
type object struct {
	kind    string   // "" for an element that is not an object
	cpus    Set      // the processors near the object
	bridges []string // the PCI bridges above it, from the root complex on
	device  int      // the index of the PCI device that it is or belongs to; -1: none
}

// read reads all elements of the XML file. stack has an entry for each element that is open.
func (r *reader) read() error {
	for {
		token, err := r.dec.Token()
		if errors.Is(err, io.EOF) && len(r.stack) == 0 {
			return nil
		}
		if err != nil {
			var s *xml.SyntaxError
			if errors.As(err, &s) {
				return fmt.Errorf("line %d: %s", s.Line, s.Msg)
			}
			return r.at("%w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err = r.open(t.Name.Local, t.Attr); err != nil {
				return r.at("<%s>: %w", t.Name.Local, err)
			}
		case xml.EndElement:
			r.stack = r.stack[:len(r.stack)-1]
		}
	}
}

// at returns an error with the line of the file before it.
func (r *reader) at(format string, args ...any) error {
	line, _ := r.dec.InputPos()
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

// open handles the start tag of an element; list has its attributes. Elements other than objects
// and the machine's name are only put on the stack.
func (r *reader) open(name string, list []xml.Attr) error {
	if len(r.stack) == 0 {
		return r.root(name, list)
	}
	if len(r.stack) > maxDepth {
		return fmt.Errorf("it is inside %d others, expected %d at most", len(r.stack), maxDepth)
	}
	o := r.stack[len(r.stack)-1]
	var err error
	switch {
	case name == "object":
		err = r.object(&o, list)
	case name == "info" && o.kind == "Machine" && get(list, "name") == "DMIProductName":
		r.m.Name = get(list, "value")
		o.kind = ""
	default:
		o.kind = ""
	}
	r.stack = append(r.stack, o)
	return err
}

// root handles the start tag of the outermost element, and checks the version of the format.
func (r *reader) root(name string, list []xml.Attr) error {
	if name != "topology" {
		return errors.New("the file describes no machine, expected <topology>")
	}
	if r.seen {
		return errors.New("a second machine, expected one")
	}
	version := get(list, "version")
	if !strings.HasPrefix(version, "2.") {
		return fmt.Errorf("version %q of the format, expected 2.0 or later below 3", version)
	}
	r.stack = append(r.stack, object{device: -1})
	return nil
}

// object handles the start tag of an hwloc object. o is a copy of the element around it, whose
// processors, bridges and device are also those of the object, and object turns o into the new
// object.
func (r *reader) object(o *object, list []xml.Attr) error {
	parent := o.kind
	o.kind = get(list, "type")
	if text := get(list, "cpuset"); text != "" {
		cpus, err := parseMask(text)
		if err != nil {
			return fmt.Errorf("cpuset: %w", err)
		}
		o.cpus = cpus
	}
	switch o.kind {
	case "":
		return errors.New("it has no type, expected one such as Machine or PCIDev")
	case "Machine":
		if r.seen {
			return errors.New("a second machine, expected one")
		}
		r.seen, r.m.CPUs = true, o.cpus
	case "Package":
		r.m.Packages = append(r.m.Packages, o.cpus)
	case "NUMANode":
		return r.node(o.cpus, list)
	case "Bridge":
		return r.bridge(o, list)
	case "PCIDev":
		return r.device(o, list)
	case "OSDev":
		return r.name(o, parent, list)
	}
	return nil
}

// node adds a NUMA node.
func (r *reader) node(cpus Set, list []xml.Attr) error {
	number, err := strconv.Atoi(get(list, "os_index"))
	if err != nil || number < 0 {
		return fmt.Errorf("NUMA node with os_index %q, expected its number", get(list, "os_index"))
	}
	r.m.Nodes = append(r.m.Nodes, Node{number, cpus})
	return nil
}

// bridge adds a PCI bridge to the bridges above the devices in o: a root complex (type 0-1) by its
// first bus, another bridge by its address.
func (r *reader) bridge(o *object, list []xml.Attr) error {
	id := get(list, "pci_busid")
	if kind := get(list, "bridge_type"); kind == "0-1" {
		domain, buses, ok := strings.Cut(get(list, "bridge_pci"), ":[")
		first, _, ranged := strings.Cut(buses, "-")
		if !ok || !ranged {
			return fmt.Errorf("bridge_pci %q, expected buses as 0000:[00-1f]", get(list, "bridge_pci"))
		}
		id = address(domain + ":" + first)
	} else if err := checkAddress(id); err != nil {
		return err
	}
	o.bridges = append(slices.Clip(o.bridges), address(id))
	return nil
}

// device adds a PCI device. Its class says whether it is a GPU; the names of the objects inside it
// decide whether it is a NIC.
func (r *reader) device(o *object, list []xml.Attr) error {
	pci := get(list, "pci_busid")
	if err := checkAddress(pci); err != nil {
		return err
	}
	pci = address(pci)
	if slices.ContainsFunc(r.m.Devices, func(d Device) bool { return d.PCI == pci }) {
		return fmt.Errorf("a second device at %s, expected one", pci)
	}
	if len(r.m.Devices) == maxDevices {
		return fmt.Errorf("more than %d devices", maxDevices)
	}
	d := Device{PCI: pci, Place: Place{CPUs: o.cpus, Bridges: o.bridges}}
	if class, vendor, ok := pciType(get(list, "pci_type")); !ok {
		return fmt.Errorf("pci_type %q, expected class and ids as 0302 [10de:2330]", get(list, "pci_type"))
	} else if isGPU(class, vendor) {
		d.Kind = GPU
	}
	if text := get(list, "pci_link_speed"); text != "" {
		speed, err := strconv.ParseFloat(text, 64)
		if err != nil || !(speed >= 0) {
			return fmt.Errorf("pci_link_speed %q, expected GB/s as 15.75", text)
		}
		d.Speed = speed
	}
	o.device = len(r.m.Devices)
	r.m.Devices = append(r.m.Devices, d)
	return nil
}

// The numbers of hwloc's kinds of system devices.
const (
	osNetwork     = "2"
	osOpenFabrics = "3"
)

// name adds one of the system's names to the PCI device around it, and decides the device's kind by
// it.
func (r *reader) name(o *object, parent string, list []xml.Attr) error {
	name, kind := get(list, "name"), get(list, "osdev_type")
	if name == "" {
		return errors.New("a device of the system without a name, expected one such as mlx5_0")
	}
	if _, err := strconv.ParseUint(kind, 10, 32); err != nil {
		return fmt.Errorf("osdev_type %q of %s, expected a number as 3", kind, name)
	}
	if o.device < 0 || parent != "PCIDev" && parent != "OSDev" {
		return nil // not within a PCI device, such as loopback: it has no place
	}
	d := &r.m.Devices[o.device]
	switch {
	case d.Kind == GPU:
		d.Names = append(d.Names, name)
	case kind == osOpenFabrics:
		d.Kind = RDMA
		d.Names = slices.Insert(d.Names, 0, name)
	case kind == osNetwork:
		if d.Kind != RDMA {
			d.Kind = Ethernet
		}
		d.Names = append(d.Names, name)
	}
	return nil
}

// finish checks that the file has described a machine, and puts it in order.
func (r *reader) finish() error {
	if !r.seen {
		return errors.New("there is no object of type Machine, expected one in <topology>")
	}
	if r.m.CPUs == "" {
		return errors.New("the machine has no processors, expected a cpuset in the object of type Machine")
	}
	r.m.tidy()
	return nil
}

// tidy removes what other functions do not use, and sorts nodes by number and devices by name.
func (m *Machine) tidy() {
	m.Devices = slices.DeleteFunc(m.Devices, func(d Device) bool { return d.Kind == 0 })
	m.Packages = slices.DeleteFunc(m.Packages, func(c Set) bool { return c == "" })
	// Nodes without processors, and a second node with the same processors, which is another kind
	// of memory, would not change any distance.
	slices.SortStableFunc(m.Nodes, func(a, b Node) int { return a.Number - b.Number })
	var nodes []Node
	for _, n := range m.Nodes {
		if n.CPUs != "" && !slices.ContainsFunc(nodes, func(has Node) bool { return has.CPUs == n.CPUs }) {
			nodes = append(nodes, n)
		}
	}
	m.Nodes = nodes
	for i := range m.Devices {
		if d := &m.Devices[i]; d.CPUs == "" || m.CPUs.Within(d.CPUs) && len(m.Packages) > 1 {
			d.CPUs = "" // a device near all processors has no known place
		}
	}
	slices.SortStableFunc(m.Devices, func(a, b Device) int { return Natural(a.Name(), b.Name()) })
}

// classDisplay is the class of PCI that GPUs have.
const classDisplay = 0x03

// isGPU decides by PCI class (display) and vendor (NVIDIA's, whose driver the library uses):
// servers also have a display for their administrator.
func isGPU(class, vendor uint64) bool { return class>>8 == classDisplay && vendor == 0x10de }

// pciType reads class and vendor from a text such as "0302 [10de:2330] [0000:0000] 00".
func pciType(text string) (class, vendor uint64, ok bool) {
	c, rest, _ := strings.Cut(text, " [")
	v, _, _ := strings.Cut(rest, ":")
	class, err1 := strconv.ParseUint(c, 16, 16)
	vendor, err2 := strconv.ParseUint(v, 16, 16)
	return class, vendor, err1 == nil && err2 == nil
}

// checkAddress returns an error for a text that is not a PCI address.
func checkAddress(pci string) error {
	domain, rest, _ := strings.Cut(pci, ":")
	bus, rest, _ := strings.Cut(rest, ":")
	device, function, _ := strings.Cut(rest, ".")
	for _, number := range []string{domain, bus, device, function} {
		if _, err := strconv.ParseUint(number, 16, 32); err != nil {
			return fmt.Errorf("pci_busid %q, expected an address as 0000:17:00.0", pci)
		}
	}
	return nil
}

// get returns the value of an attribute; "" if the element has none of that name.
func get(list []xml.Attr, name string) string {
	for _, a := range list {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
