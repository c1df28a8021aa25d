package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A network can be written as text: the name of a model, and words that change it, separated by
// commas.
//
//	efa-direct,nics=4,rails=4,reorder=0.5,delay=20us,drop-peer=3@5ms
//
// Shares are from 0 to 1, times as Go writes them, sizes in bytes, speeds in bits a second with k,
// M or G behind. waw, saw, sas, raw, delivery, virtual and local are the network's promises and
// demands, 0 or 1; software, retries and strangers are its behaviour. drop-peer=HOST[@TIME] kills
// the endpoints of a host, lose-nic=HOST/NIC[@TIME] takes a link away, restore-nic gives it back.
// Words of faults may also stand alone (ParseFaults), for a network that is not simulated.

// knob is a word of the text.
type knob struct {
	name string
	at   func(*Model) any // *float64, *Time, *int, *uint64 or *bool
}

var knobs = []knob{
	{"mtu", func(m *Model) any { return &m.MTU }},
	{"header", func(m *Model) any { return &m.Header }},
	{"bandwidth", func(m *Model) any { return &m.Bandwidth }},
	{"latency", func(m *Model) any { return &m.Latency }},
	{"rails", func(m *Model) any { return &m.Rails }},
	{"cross", func(m *Model) any { return &m.Cross }},
	{"nics", func(m *Model) any { return &m.NICs }},
	{"skew", func(m *Model) any { return &m.Skew }},
	{"depth", func(m *Model) any { return &m.Depth }},
	{"longest", func(m *Model) any { return &m.Longest }},
	{"queue", func(m *Model) any { return &m.Queue }},
	{"handshake", func(m *Model) any { return &m.Handshake }},
	{"software", func(m *Model) any { return &m.Software }},
	{"retries", func(m *Model) any { return &m.Retries }},
	{"strangers", func(m *Model) any { return &m.Strangers }},
	{"pollbytes", func(m *Model) any { return &m.PollBytes }},
	{"post", func(m *Model) any { return &m.Post }},
	{"detect", func(m *Model) any { return &m.Detect }},
	{"inject", func(m *Model) any { return &m.Caps.MaxInject }},
	{"injectwrite", func(m *Model) any { return &m.Caps.MaxInjectWrite }},
	{"virtual", func(m *Model) any { return &m.Caps.VirtualAddress }},
	{"local", func(m *Model) any { return &m.Caps.LocalMR }},
	{"waw", func(m *Model) any { return &m.Caps.WriteAfterWrite }},
	{"saw", func(m *Model) any { return &m.Caps.SendAfterWrite }},
	{"sas", func(m *Model) any { return &m.Caps.SendAfterSend }},
	{"raw", func(m *Model) any { return &m.Caps.ReadAfterWrite }},
	{"delivers", func(m *Model) any { return &m.Delivers }},
	{"delivery", func(m *Model) any { return &m.Caps.DeliveryComplete }},
	{"data", func(m *Model) any { return &m.Caps.Data }},
	{"takes", func(m *Model) any { return &m.Caps.DataTakesRecv }},
	{"source", func(m *Model) any { return &m.Caps.Source }},
	{"fence", func(m *Model) any { return &m.Caps.Fence }},
	{"reorder", func(m *Model) any { return &m.Reorder }},
	{"delay", func(m *Model) any { return &m.Delay }},
	{"duplicate", func(m *Model) any { return &m.Duplicate }},
	{"drop", func(m *Model) any { return &m.Drop }},
	{"late", func(m *Model) any { return &m.Late }},
	{"split", func(m *Model) any { return &m.Split }},
	{"again", func(m *Model) any { return &m.Again }},
	{"storm", func(m *Model) any { return &m.Storm }},
}

// firstFault is the first of the knobs that belong to Faults.
var firstFault = slices.IndexFunc(knobs, func(k knob) bool { return k.name == "reorder" })

// Parse makes a model, and the faults that are planned, of a text.
func Parse(text string) (Model, []Fault, error) {
	name, rest, _ := strings.Cut(text, ",")
	m, err := Named(name)
	if err != nil {
		return Model{}, nil, err
	}
	faults, err := change(&m, knobs, rest)
	if err != nil {
		return Model{}, nil, err
	}
	for _, f := range faults { // now all words are read, nics among them
		if nics := max(m.NICs, 1); f.NIC >= nics {
			return Model{}, nil, fmt.Errorf("lose-nic, restore-nic: there is no NIC %d, each host has %d (use 0 to %d, or more nics)", f.NIC, nics, nics-1)
		}
	}
	return m, faults, nil
}

// ParseFaults makes faults of words alone.
func ParseFaults(text string) (Faults, []Fault, error) {
	var m Model
	faults, err := change(&m, knobs[firstFault:], text)
	return m.Faults, faults, err
}

func change(m *Model, knobs []knob, text string) ([]Fault, error) {
	var faults []Fault
	for _, word := range strings.Split(text, ",") {
		if word == "" {
			continue
		}
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no value (write it as %s=VALUE)", word, word)
		}
		if f, is, err := parseFault(name, value); is {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
			faults = append(faults, f)
			continue
		}
		if err := set(m, knobs, name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return faults, nil
}

func set(m *Model, knobs []knob, name, value string) error {
	var names []string
	for _, k := range knobs {
		if k.name == name {
			return parseValue(k.at(m), value)
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("there is no such word (there are %s, drop-peer, lose-nic and restore-nic)", strings.Join(names, ", "))
}

func parseValue(to any, text string) error {
	switch to := to.(type) {
	case *float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return fmt.Errorf("%q is no share from 0 to 1", text)
		}
		*to = v
	case *Time:
		v, err := parseTime(text)
		if err != nil {
			return err
		}
		*to = v
	case *bool:
		if text != "0" && text != "1" {
			return fmt.Errorf("%q is neither 0 nor 1", text)
		}
		*to = text == "1"
	case *int:
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 || v > math.MaxInt32 {
			return fmt.Errorf("%q is no number from 0 to %d", text, math.MaxInt32)
		}
		*to = v
	case *uint64:
		digits, scale := text, uint64(1)
		if i := strings.IndexAny(text, "kMG"); i >= 0 && i == len(text)-1 {
			digits, scale = text[:i], map[byte]uint64{'k': 1e3, 'M': 1e6, 'G': 1e9}[text[i]]
		}
		v, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is no speed (write 200G, 100M or a number below 2^32)", text)
		}
		*to = v * scale
	}
	return nil
}

func parseTime(text string) (Time, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no time (write 20us or 5ms)", text)
	}
	return d, nil
}

// parseFault reads the words of things that go wrong at a time.
func parseFault(name, value string) (f Fault, is bool, err error) {
	f.NIC = -1
	switch name {
	case "drop-peer":
	case "lose-nic":
	case "restore-nic":
		f.Up = true
	default:
		return f, false, nil
	}
	value, at, timed := strings.Cut(value, "@")
	if timed {
		if f.At, err = parseTime(at); err != nil {
			return f, true, err
		}
	}
	if name != "drop-peer" {
		var nic string
		value, nic, _ = strings.Cut(value, "/")
		if err = parseValue(&f.NIC, nic); err != nil {
			return f, true, fmt.Errorf("NIC: %w", err)
		}
	}
	if err = parseValue(&f.Host, value); err != nil {
		return f, true, fmt.Errorf("host: %w", err)
	}
	return f, true, nil
}

// String returns the text that Parse reads: the name of the model and its differences from it.
func (m Model) String() string {
	base, err := Named(m.Name)
	if err != nil {
		base = Model{}
	}
	base.normalise()
	m.normalise()
	out := m.Name
	for _, k := range knobs {
		if text := format(k.at(&m)); text != format(k.at(&base)) {
			out += "," + k.name + "=" + text
		}
	}
	return out
}

func format(v any) string {
	switch v := v.(type) {
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *Time:
		return v.String()
	case *uint64:
		if *v%1e9 == 0 && *v > 0 {
			return strconv.FormatUint(*v/1e9, 10) + "G"
		}
		return strconv.FormatUint(*v, 10)
	case *int:
		return strconv.Itoa(*v)
	case *bool:
		if *v {
			return "1"
		}
		return "0"
	}
	return ""
}
