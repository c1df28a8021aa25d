package topo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libshmem/runtime/shmerr"
)

// Syntax errors of settings name the fault, its place, and the expected text.
func malformed(setting, text, format string, args ...any) error {
	return &shmerr.Error{
		Op: "read setting", Object: fmt.Sprintf("%s=%q", setting, text),
		Cause: shmerr.Causef(shmerr.ErrSetting, format, args...),
		Remedy: map[string]string{
			"SHMEM_NIC_LIST":       "list names of NICs as mlx5_0,mlx5_1, or all but some as ^mlx5_0,mlx5_1",
			"SHMEM_NIC_PE_MAPPING": "list entries name:port:PEs as mlx5_0:1:2,mlx5_1:1:2; port and PEs may be left out",
		}[setting],
	}
}

// List is the value of SHMEM_NIC_LIST.
type List struct {
	Names  []string
	Except bool // all but these
}

// String is the list without ports.
func (l List) String() string {
	if l.Except {
		return "^" + strings.Join(l.Names, ",")
	}
	return strings.Join(l.Names, ",")
}

// ParseList reads names of NICs, each with a port behind a colon or without, and ^ in
// front of all of them for all other NICs.
func ParseList(words []string) (List, error) {
	var l List
	text := strings.Join(words, ",")
	for i, word := range words {
		name, except := strings.CutPrefix(word, "^")
		if i == 0 {
			l.Except = except
		} else if except && !l.Except {
			return l, malformed("SHMEM_NIC_LIST", text, "name %d, %q: ^ is expected in front of the first name, or nowhere", i+1, word)
		}
		name, port, has := strings.Cut(name, ":")
		if l.Except && name == "" && !has && len(words) == 1 {
			return l, nil // ^ alone: all
		}
		if err := checkName(name); err != nil {
			return l, malformed("SHMEM_NIC_LIST", text, "name %d, %q: %w", i+1, word, err)
		}
		if has {
			if err := checkPort(port); err != nil {
				return l, malformed("SHMEM_NIC_LIST", text, "name %d, %q: %w", i+1, word, err)
			}
		}
		l.Names = append(l.Names, name)
	}
	return l, nil
}

// Mapping is the value of SHMEM_NIC_PE_MAPPING: which PEs of a host, in their order, take which
// NICs.
type Mapping []Entry

// Entry gives the next PEs the NICs, all of them to each.
type Entry struct {
	Names []string
	PEs   int
}

const mostPEs = 1 << 16

// ParseMapping reads entries NIC[+NIC...][:port[:PEs]] with commas between them.
func ParseMapping(text string) (Mapping, error) {
	var m Mapping
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	at := 1 // the character that is read next, counted from 1
	for i, part := range strings.Split(text, ",") {
		e := Entry{PEs: 1}
		field := at
		for k, word := range strings.Split(part, ":") {
			var err error
			switch word := strings.TrimSpace(word); k {
			case 0:
				e.Names = strings.Split(word, "+")
				for _, name := range e.Names {
					err = errors.Join(err, checkName(name))
				}
			case 1:
				err = checkPort(word)
			case 2:
				if e.PEs, err = strconv.Atoi(word); err != nil || e.PEs < 1 || e.PEs > mostPEs {
					err = fmt.Errorf("count of PEs %q, expected a number from 1 to %d", word, mostPEs)
				}
			default:
				err = fmt.Errorf("%q behind a third colon, expected a comma", word)
			}
			if err != nil {
				return nil, malformed("SHMEM_NIC_PE_MAPPING", text, "entry %d, %q, at character %d: %w", i+1, part, field, err)
			}
			field += len(word) + 1
		}
		m = append(m, e)
		at += len(part) + 1
	}
	return m, nil
}

// checkName refuses a name that no NIC has.
func checkName(name string) error {
	if name == "" {
		return errors.New("a name is missing, expected one as mlx5_0")
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == '/' || r == '^' || r == '+' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("%q in the name, expected letters, digits, dots, - and _", name[i:i+1])
	}
	return nil
}

// checkPort takes only the port that libfabric opens.
func checkPort(port string) error {
	if n, err := strconv.Atoi(port); err != nil || n < 1 {
		return fmt.Errorf("port %q, expected 1", port)
	} else if n > 1 {
		return fmt.Errorf("port %d, expected 1: libfabric opens the first port of a NIC", n)
	}
	return nil
}

// PEs is the number of PEs that are counted in all entries.
func (m Mapping) PEs() int {
	n := 0
	for _, e := range m {
		n += e.PEs
	}
	return n
}

// Names are the NICs of all entries.
func (m Mapping) Names() []string {
	var names []string
	for _, e := range m {
		for _, n := range e.Names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// At is the entry of a PE by its number on the host; beyond the last it begins anew.
func (m Mapping) At(pe int) Entry {
	pe %= m.PEs()
	for _, e := range m {
		if pe < e.PEs {
			return e
		}
		pe -= e.PEs
	}
	return Entry{}
}
