package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"libshmem"
)

// TestCausesOf: what hosts have found about each other becomes the name of its cause.
func TestCausesOf(t *testing.T) {
	host := func(pe libshmem.PE, addresses ...string) Host {
		h := Host{Name: fmt.Sprintf("h%d", pe), PEs: []libshmem.PE{pe}, UsedInterfaces: []string{"eth0"}}
		for i, ip := range addresses {
			h.Address = append(h.Address, Address{Interface: fmt.Sprintf("eth%d", i), IP: ip, MTU: 1500})
		}
		return h
	}
	a, b := host(0, "10.0.0.1", "10.1.0.1"), host(1, "10.0.0.2", "10.1.0.2")
	well := func(to, address int) probe {
		return probe{Host: to, Address: address, Seen: fmt.Sprintf("10.%d.0.%d", address, 2-to), Bulk: true}
	}
	silent := func(to, address int) probe {
		return probe{Host: to, Address: address, Silent: true, Refused: "no answer"}
	}
	in := func(from, address int, interfaces ...string) arrival {
		return arrival{from, address, interfaces[0], interfaces[1]}
	}
	for _, c := range []struct {
		what  string
		hosts []Host
		tried []probe // by host 0
		came  []arrival
		names []lookup // by host 0
		want  []string // beginnings
	}{
		{"sound", nil, []probe{well(1, 0), well(1, 1)}, []arrival{in(0, 0, "eth0", "eth0"), in(0, 1, "eth1", "eth1")}, []lookup{{"h1", time.Millisecond}}, []string{"ok  causes: "}},
		{"silence on an interface that jobs take", nil, []probe{silent(1, 0)}, nil, nil, []string{"no  silent firewall: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: TCP and UDP"}},
		{"silence on another", nil, []probe{silent(1, 1)}, nil, nil, []string{"-   silent firewall: h0 (PE 0) to h1 (PE 1) at 10.1.0.2: TCP and UDP"}},
		{"UDP arrives", nil, []probe{silent(1, 0)}, []arrival{in(0, 0, "eth0", "eth0")}, nil, []string{"no  silent firewall: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: TCP to a free port"}},
		{"UDP of another host", nil, []probe{silent(1, 0)}, []arrival{in(1, 0, "eth0", "eth0")}, nil, []string{"no  silent firewall: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: TCP and UDP"}},
		{"answers are lost", nil, []probe{silent(1, 0)}, []arrival{in(0, 0, "eth0", "eth1")}, nil, []string{"no  asymmetric routes: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: packets arrive on eth0, answers leave by eth1 and are lost"}},
		{"answers turn", nil, []probe{well(1, 0)}, []arrival{in(0, 0, "eth0", "eth1")}, nil, []string{"-   asymmetric routes: "}},
		{"another door", nil, []probe{well(1, 0)}, []arrival{in(0, 0, "eth1", "eth1")}, nil, []string{"-   asymmetric routes: "}},
		{"refused", nil, []probe{{Host: 1, Refused: "connect: connection refused"}}, nil, nil, []string{"ok  causes: "}},
		{"large packets", nil, []probe{{Host: 1, Seen: "10.0.0.1", Largest: 1400}}, nil, nil, []string{"no  MTU black hole: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: a connection is made, a large transfer stands still; packets of more than some 1400 bytes vanish, and the MTU of eth0 is 1500"}},
		{"large answers", nil, []probe{{Host: 1, Seen: "10.0.0.1", Largest: 1500}}, nil, nil, []string{"no  MTU black hole: h0 (PE 0) to h1 (PE 1) at 10.0.0.2: a connection is made, a large transfer stands still; packets of 1500 bytes arrive, those that come back vanish"}},
		{"translated", nil, []probe{{Host: 1, Seen: "10.9.9.9", Bulk: true}}, nil, nil, []string{"no  address translation (NAT): h0 (PE 0) to h1 (PE 1) at 10.0.0.2: it comes from 10.9.9.9 there, which is not an address of h0"}},
		{"twice", []Host{a, host(1, "10.0.0.1")}, []probe{{Host: 1, Refused: "another process answers there"}}, nil, nil, []string{"no  duplicate addresses: 10.0.0.1 on eth0 is of h0 (PE 0) and h1 (PE 1)"}},
		{"a slow name", nil, []probe{well(1, 0)}, nil, []lookup{{"h1", 2300 * time.Millisecond}}, []string{"-   slow DNS: h0 (PE 0): the look-up of h1 took 2.3s"}},
		{"IPv6", []Host{host(0, "fd00::1"), host(1, "fd00::2")}, nil, nil, nil, []string{"-   IPv6 only: h0 (PE 0), h1 (PE 1) have no address of IPv4"}},
		{"two families", []Host{host(0, "fd00::1"), b}, nil, nil, nil, []string{"no  IPv6 only: h0 (PE 0) have addresses of IPv6 alone, and h1 (PE 1) of IPv4 alone"}},
		{"one host", []Host{a}, nil, nil, nil, nil},
	} {
		p := &pairs{hosts: []Host{a, b}, tried: [][]probe{c.tried, nil}, arrived: [][]arrival{nil, c.came}, names: [][]lookup{c.names, nil}}
		if c.hosts != nil {
			p.hosts = c.hosts
		}
		got := p.causes()
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
			continue
		}
		for i, f := range got {
			if !strings.HasPrefix(f.String(), c.want[i]) {
				t.Errorf("%s: %s, want %s", c.what, f, c.want[i])
			}
			if (f.Verdict == OK) != (f.Remedy == "") {
				t.Errorf("%s: %s: remedy %q", c.what, f, f.Remedy)
			}
		}
	}
}
