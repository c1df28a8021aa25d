package doctor

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/runtime/shmerr"
)

// maxShown caps the connections, or hosts, that the line of one finding names.
const maxShown = 3

// findFaults returns a finding for each name of an interface: whether all hosts reach the addresses
// that the other hosts have on interfaces of that name. failed has, by host, the connections that
// the host could not make.
func findFaults(hosts []Host, failed [][]failure) []Finding {
	const subject = "hosts"
	if len(hosts) == 1 {
		return []Finding{Well(subject, "one, its PEs share memory")}
	}
	var all []Finding
	var interfaces []string
	for _, h := range hosts {
		if len(h.Address) == 0 {
			all = append(all, Bad(subject, "bring an interface up and give it an address", "%s has no address that another could reach", label(&h)))
		}
		for _, a := range h.Address {
			if !slices.Contains(interfaces, a.Interface) {
				interfaces = append(interfaces, a.Interface)
			}
		}
	}
	slices.Sort(interfaces)
	for _, name := range interfaces {
		all = append(all, between(hosts, failed, name))
	}
	return all
}

// between returns the finding about the interfaces of one name: the connections that hosts could
// not make to the addresses of other hosts on them, or that there are none. The finding is a fault
// only if a host that was not reached uses the interface for jobs.
func between(hosts []Host, failed [][]failure, name string) Finding {
	const subject = "between hosts"
	var lost []string
	used := false
	for from, list := range failed {
		for _, f := range list {
			a := hosts[f.Host].Address[f.Address]
			if a.Interface != name {
				continue
			}
			lost = append(lost, fmt.Sprintf("%s to %s at %s: %s", label(&hosts[from]), label(&hosts[f.Host]), a.IP, f.Why))
			used = used || slices.Contains(hosts[f.Host].UsedInterfaces, name)
		}
	}
	if len(lost) == 0 {
		return Well(subject, "%s is reached by all %d", name, len(hosts))
	}
	if more := len(lost) - maxShown; more > 0 {
		lost = append(lost[:maxShown], fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("%s: %s", name, strings.Join(lost, "; "))
	if used {
		return Bad(subject, "open the firewall between the hosts for TCP, mend the routes, or keep jobs from it with SHMEM_NIC_LIST=^"+name, "%s", text)
	}
	return Lack(subject, "no job takes it with these settings; SHMEM_NIC_LIST=^"+name+" keeps it so", "%s", text)
}

// label returns the name of a host with its PEs, because several hosts may have one name.
func label(h *Host) string { return fmt.Sprintf("%s (%s)", h.Name, shmerr.PEs(h.PEs)) }

// Report returns the report as text: the findings of each host, hosts with the same findings
// together, and the findings about the network between hosts.
func Report(hosts []Host, between []Finding) string {
	var b strings.Builder
	printed := make([]bool, len(hosts))
	for i := range hosts {
		if printed[i] {
			continue
		}
		names := []string{label(&hosts[i])}
		for j := i + 1; j < len(hosts); j++ {
			if slices.Equal(hosts[j].Findings, hosts[i].Findings) {
				printed[j] = true
				names = append(names, label(&hosts[j]))
			}
		}
		fmt.Fprintf(&b, "# %s\n", strings.Join(names, ", "))
		for _, f := range hosts[i].Findings {
			fmt.Fprintln(&b, f)
		}
	}
	b.WriteString("# between them\n")
	for _, f := range between {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
