package topo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"libshmem/runtime/shmerr"
)

// malformed returns the error for a setting whose text has a syntax error. The format names the
// fault, its place in the text, and what is expected there.
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
	Except bool // the list means all NICs but these
}

// String returns the list as a user writes it, without ports.
func (l List) String() string {
	if l.Except {
		return "^" + strings.Join(l.Names, ",")
	}
	return strings.Join(l.Names, ",")
}

// ParseList reads names of NICs, each optionally with a colon and a port. ^ in front of the list
// means all NICs but these.
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
		name, port, hasPort := strings.Cut(name, ":")
		if l.Except && name == "" && !hasPort && len(words) == 1 {
			return l, nil // ^ without a name excludes nothing: all NICs
		}
		if err := checkName(name); err != nil {
			return l, malformed("SHMEM_NIC_LIST", text, "name %d, %q: %w", i+1, word, err)
		}
		if hasPort {
			if err := checkPort(port); err != nil {
				return l, malformed("SHMEM_NIC_LIST", text, "name %d, %q: %w", i+1, word, err)
			}
		}
		l.Names = append(l.Names, name)
	}
	return l, nil
}

// Mapping is the value of SHMEM_NIC_PE_MAPPING: which PEs of a host, in their order, use which
// NICs.
type Mapping []Entry

// Entry assigns all its NICs to each of the next PEs of the host.
type Entry struct {
	Names []string
	PEs   int
}

// maxPEs is the largest count of PEs in an entry of a Mapping.
const maxPEs = 1 << 16

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
				if e.PEs, err = strconv.Atoi(word); err != nil || e.PEs < 1 || e.PEs > maxPEs {
					err = fmt.Errorf("count of PEs %q, expected a number from 1 to %d", word, maxPEs)
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

// checkName returns an error for a name that no NIC can have.
func checkName(name string) error {
	if name == "" {
		return errors.New("a name is missing, expected one such as mlx5_0")
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == '/' || r == '^' || r == '+' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("%q in the name, expected letters, digits, dots, - and _", name[i:i+1])
	}
	return nil
}

// checkPort returns an error for any port but 1, because libfabric opens the first port of a NIC.
func checkPort(port string) error {
	if n, err := strconv.Atoi(port); err != nil || n < 1 {
		return fmt.Errorf("port %q, expected 1", port)
	} else if n > 1 {
		return fmt.Errorf("port %d, expected 1: libfabric opens the first port of a NIC", n)
	}
	return nil
}

// PEs returns the number of PEs of a host for which the mapping has entries. Further PEs begin at
// its first entry again.
func (m Mapping) PEs() int {
	n := 0
	for _, e := range m {
		n += e.PEs
	}
	return n
}

// Names returns the names of NICs in all entries, each once.
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

// At returns the entry for the PE with the index pe on the host. After the last entry it begins
// again with the first. m must not be empty.
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
