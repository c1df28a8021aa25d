// Package hostlist reads lists of hosts, from a command line, a host file or a batch system, and
// spreads PEs over the hosts.
//
// It does not resolve names, and does not know how PEs are started.
package hostlist

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// MaxOfHost is the most slots of a host: a larger number is taken for a typing error.
const MaxOfHost = 4096

// Host is a machine, and how many PEs it has room for (slots).
type Host struct {
	Name  string // for ssh: a name or an address, perhaps with user@ before it
	Slots int    // 0: the list does not say how many
}

const fileForm = "a line is: host, host:4 or host slots=4; # begins a comment"

// ParseFile reads the text of a host file. name is the file's name, for errors. The slots of lines
// with the same host add up.
func ParseFile(name, text string) ([]Host, error) {
	var all []Host
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		h, err := parseLine(words)
		if err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w (%s)", name, number, err, fileForm)
		}
		all = add(all, h)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: it names no host (%s)", name, fileForm)
	}
	return all, nil
}

// parseLine reads the words of a line: a host, and perhaps slots=N or max_slots=N as in host files
// of Open MPI. max_slots is only a limit that slots must not exceed.
func parseLine(words []string) (Host, error) {
	h, err := parseHost(words[0])
	if err != nil {
		return h, err
	}
	limit := 0
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		n := 0
		switch name {
		case "slots", "max_slots", "max-slots":
			if n, err = parseSlots(value); err != nil {
				return h, fmt.Errorf("%s: %w", word, err)
			}
		default:
			return h, fmt.Errorf("%q has no meaning here", word)
		}
		if name != "slots" {
			limit = n
		} else if h.Slots != 0 {
			return h, fmt.Errorf("%q and another number of slots", word)
		} else {
			h.Slots = n
		}
	}
	if limit > 0 && h.Slots > limit {
		return h, fmt.Errorf("%d slots are more than its limit of %d", h.Slots, limit)
	}
	return h, nil
}

// ParseList reads the value of --host: hosts separated by commas, each perhaps followed by :N, its
// number of slots.
func ParseList(s string) ([]Host, error) {
	var all []Host
	for part := range strings.SplitSeq(s, ",") {
		h, err := parseHost(part)
		if err != nil {
			return nil, fmt.Errorf("--host %s: %w (say --host a:4,b:4)", s, err)
		}
		all = add(all, h)
	}
	return all, nil
}

// add appends a host to the list or, if the host is in it, adds the slots. A host without a number
// then counts as one slot.
func add(all []Host, h Host) []Host {
	for i := range all {
		if all[i].Name == h.Name {
			all[i].Slots = max(all[i].Slots, 1) + max(h.Slots, 1)
			return all
		}
	}
	return append(all, h)
}

// parseHost reads a host in the form name, name:N, [address]:N or address, with user@ before it or
// not.
func parseHost(s string) (h Host, err error) {
	user, host := "", s
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		user, host = s[:at+1], s[at+1:]
		if err := checkName(user[:at]); err != nil {
			return h, fmt.Errorf("user of %q: %w", s, err)
		}
	}
	slots, hasSlots := "", false
	if inside, ok := strings.CutPrefix(host, "["); ok {
		address, rest, closed := strings.Cut(inside, "]")
		if _, err := netip.ParseAddr(address); !closed || err != nil {
			return h, fmt.Errorf("%q is not an address in brackets, such as [fd00::1]", s)
		}
		host = address
		if slots, hasSlots = strings.CutPrefix(rest, ":"); !hasSlots && rest != "" {
			return h, fmt.Errorf("%q: %q follows the brackets", s, rest)
		}
	} else if _, err := netip.ParseAddr(host); err != nil {
		host, slots, hasSlots = strings.Cut(host, ":")
	}
	if err := checkName(host); err != nil {
		return h, fmt.Errorf("host %q: %w", s, err)
	}
	h.Name = user + host
	if hasSlots {
		if h.Slots, err = parseSlots(slots); err != nil {
			return h, fmt.Errorf("host %q: %w", s, err)
		}
	}
	return h, nil
}

// checkName returns an error for a name that ssh, or the shell that it starts, would take for an
// option or a command.
func checkName(name string) error {
	if name == "" {
		return errors.New("there is no name")
	}
	if name[0] == '-' {
		return errors.New("a name does not begin with -")
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._:%", c) >= 0) {
			return fmt.Errorf("%q cannot be in a name", c)
		}
	}
	return nil
}

// parseSlots reads the number of PEs that a host takes.
func parseSlots(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxOfHost {
		return 0, fmt.Errorf("%q is not a number of slots from 1 to %d", s, MaxOfHost)
	}
	return n, nil
}

// Total returns the number of slots of all hosts. A host without a number of slots has one.
func Total(hosts []Host) int {
	sum := 0
	for _, h := range hosts {
		sum += max(h.Slots, 1)
	}
	return sum
}

// Fill returns how many of n PEs each host gets. If no host has a number of slots, all get equally
// many. Otherwise Fill fills one host after the other or, if cyclic, assigns one PE to each host,
// round after round.
func Fill(hosts []Host, n int, cyclic bool) ([]int, error) {
	if n < 1 || len(hosts) == 0 {
		return nil, fmt.Errorf("spread %d PEs over %d hosts: both numbers must be 1 or more", n, len(hosts))
	}
	sizes := make([]int, len(hosts))
	counted := false
	for _, h := range hosts {
		counted = counted || h.Slots > 0
	}
	if !counted {
		for i := range sizes {
			sizes[i] = n / len(hosts)
			if i < n%len(hosts) {
				sizes[i]++
			}
		}
		return sizes, nil
	}
	if total := Total(hosts); n > total {
		return nil, fmt.Errorf("-n %d: the hosts have %d slots (say -n %d, or give the hosts more slots)", n, total, total)
	}
	for left := n; left > 0; {
		for i, h := range hosts {
			room := max(h.Slots, 1) - sizes[i]
			if cyclic {
				room = min(room, 1)
			}
			take := min(room, left)
			sizes[i] += take
			left -= take
		}
	}
	return sizes, nil
}
