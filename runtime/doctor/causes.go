package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pairs has what the hosts of a job have found out about the network between them. Its methods find
// the causes of faults.
type pairs struct {
	hosts   []Host
	tried   [][]probe   // by host: what it found at the addresses of other hosts
	arrived [][]arrival // by host: the datagrams that reached it
	names   [][]lookup  // by host: how long it took to look up names

	lines map[cause][]string // the text of the finding about each cause
	order []cause            // the keys of lines, in the order of the report
}

// cause is a reason why hosts do not reach each other well, with its severity and remedy.
type cause struct {
	verdict         Verdict
	subject, remedy string
}

// The remedies.
const (
	openFirewall = "open the firewall between the hosts for TCP and UDP on all ports"
	oneMTU       = "let ICMP \"fragmentation needed\" pass, or set the MTU of the interfaces to what the network between them carries"
	sameRoutes   = "make packets and their answers take the same interface: correct the routes of both hosts, or see rp_filter and arp_filter"
	noNAT        = "hosts of a job need to reach each other at their own addresses: leave the address translation out between them"
	ownAddresses = "give each host addresses of its own"
	fasterNames  = "correct /etc/resolv.conf, or write the hosts into /etc/hosts"
	bothFamilies = "give the hosts addresses of one family"
)

// add adds a line to the finding about a cause, unless the finding has the line already: one cause,
// such as a firewall, may have effects at many hosts.
func (p *pairs) add(c cause, format string, args ...any) {
	if p.lines == nil {
		p.lines = map[cause][]string{}
	}
	if p.lines[c] == nil {
		p.order = append(p.order, c)
	}
	if line := fmt.Sprintf(format, args...); !slices.Contains(p.lines[c], line) {
		p.lines[c] = append(p.lines[c], line)
	}
}

// causes returns a finding for each cause of trouble between hosts, or one finding that all is
// well; nil if there is one host. An address that several hosts have explains the failures of paths
// to that address, so these paths add nothing more.
func (p *pairs) causes() []Finding {
	if len(p.hosts) == 1 {
		return nil
	}
	duplicate := p.duplicates()
	for from := range p.tried {
		for i := range p.tried[from] {
			t := &p.tried[from][i]
			if !duplicate[p.hosts[t.Host].Address[t.Address].IP] {
				p.path(from, t)
			}
		}
	}
	p.slowNames()
	p.families()
	var all []Finding
	for _, c := range p.order {
		lines := p.lines[c]
		if more := len(lines) - maxShown; more > 0 {
			lines = append(lines[:maxShown:maxShown], fmt.Sprintf("and %d more", more))
		}
		all = append(all, Finding{c.verdict, c.subject, strings.Join(lines, "; "), c.remedy})
	}
	if len(all) == 0 {
		all = append(all, Well("causes", "large transfers, datagrams, routes, addresses and names of %d hosts are sound", len(p.hosts)))
	}
	return all
}

// duplicates adds findings about addresses that several hosts have, and returns these addresses.
func (p *pairs) duplicates() map[string]bool {
	owners, duplicate := map[string][]int{}, map[string]bool{}
	for h := range p.hosts {
		for _, a := range p.hosts[h].Address {
			if !slices.Contains(owners[a.IP], h) {
				owners[a.IP] = append(owners[a.IP], h)
			}
		}
	}
	for h := range p.hosts {
		for _, a := range p.hosts[h].Address {
			if all := owners[a.IP]; len(all) > 1 && !duplicate[a.IP] {
				duplicate[a.IP] = true
				var who []string
				for _, o := range all {
					who = append(who, label(&p.hosts[o]))
				}
				p.add(p.cause("duplicate addresses", ownAddresses, h, a.Interface), "%s on %s is of %s", a.IP, a.Interface, strings.Join(who, " and "))
			}
		}
	}
	return duplicate
}

// cause returns a cause of faults at an interface of a host. Its verdict is a fault if jobs use the
// interface, else a lack.
func (p *pairs) cause(subject, remedy string, host int, name string) cause {
	if slices.Contains(p.hosts[host].UsedInterfaces, name) {
		return cause{Wrong, subject, remedy}
	}
	return cause{Lacks, subject, remedy}
}

// path adds findings about the path from the host `from` to an address of another host, from the
// probe t of that path and from the datagrams that arrived there.
func (p *pairs) path(from int, t *probe) {
	to := &p.hosts[t.Host]
	a := to.Address[t.Address]
	where := fmt.Sprintf("%s to %s at %s", label(&p.hosts[from]), label(to), a.IP)
	kind := func(subject, remedy string) cause { return p.cause(subject, remedy, t.Host, a.Interface) }
	i := slices.IndexFunc(p.arrived[t.Host], func(x arrival) bool { return x.From == from && x.Address == t.Address })
	arrived := i >= 0
	var in arrival
	if arrived {
		in = p.arrived[t.Host][i]
	}
	asymmetric := arrived && in.Interface != "" && in.Back != "" && in.Back != in.Interface
	switch {
	case t.Silent && asymmetric:
		p.add(kind("asymmetric routes", sameRoutes), "%s: packets arrive on %s, answers leave by %s and are lost", where, in.Interface, in.Back)
	case t.Silent && arrived:
		p.add(kind("silent firewall", openFirewall), "%s: TCP to a free port is neither answered nor refused, while UDP arrives", where)
	case t.Silent:
		p.add(kind("silent firewall", openFirewall), "%s: TCP and UDP to free ports are neither answered nor refused", where)
	case t.Refused != "":
		return // findFaults reports why there is no connection
	case t.Seen != "" && !slices.ContainsFunc(p.hosts[from].Address, func(x Address) bool { return x.IP == t.Seen }):
		p.add(kind("address translation (NAT)", noNAT), "%s: it comes from %s there, which is not an address of %s", where, t.Seen, p.hosts[from].Name)
	}
	if t.Refused == "" && !t.Bulk {
		size := "large packets vanish"
		switch {
		case t.Largest >= a.MTU:
			size = fmt.Sprintf("packets of %d bytes arrive, those that come back vanish", t.Largest)
		case t.Largest > 0:
			size = fmt.Sprintf("packets of more than some %d bytes vanish", t.Largest)
		}
		p.add(kind("MTU black hole", oneMTU), "%s: a connection is made, a large transfer stands still; %s, and the MTU of %s is %d", where, size, a.Interface, a.MTU)
	}
	// The connection was made in spite of this, so the verdict is a lack on every interface.
	if t.Refused == "" && arrived && (asymmetric || in.Interface != "" && in.Interface != a.Interface) {
		c := cause{Lacks, "asymmetric routes", sameRoutes}
		p.add(c, "%s, which is of %s: packets arrive on %s, answers leave by %s", where, a.Interface, in.Interface, in.Back)
	}
}

// slowNames adds a finding about names of hosts whose look-up takes long.
func (p *pairs) slowNames() {
	for h, list := range p.names {
		for _, l := range list {
			if l.Took >= slowName {
				p.add(cause{Lacks, "slow DNS", fasterNames}, "%s: the look-up of %s took %v", label(&p.hosts[h]), l.Name, l.Took.Round(100*time.Millisecond))
			}
		}
	}
}

// families adds a finding if some hosts have no IPv4 address: a fault if other hosts have no IPv6
// address.
func (p *pairs) families() {
	var six, four []string
	for h := range p.hosts {
		has4 := slices.ContainsFunc(p.hosts[h].Address, func(a Address) bool { return !strings.Contains(a.IP, ":") })
		has6 := slices.ContainsFunc(p.hosts[h].Address, func(a Address) bool { return strings.Contains(a.IP, ":") })
		switch {
		case has6 && !has4:
			six = append(six, label(&p.hosts[h]))
		case has4 && !has6:
			four = append(four, label(&p.hosts[h]))
		}
	}
	switch {
	case len(six) > 0 && len(four) > 0:
		p.add(cause{Wrong, "IPv6 only", bothFamilies}, "%s have addresses of IPv6 alone, and %s of IPv4 alone", strings.Join(six, ", "), strings.Join(four, ", "))
	case len(six) > 0:
		p.add(cause{Lacks, "IPv6 only", "jobs take IPv6 there; set SHMEM_BOOTSTRAP_FAMILY=af_inet6 where a unique id must not name IPv4"}, "%s have no address of IPv4", strings.Join(six, ", "))
	}
}
