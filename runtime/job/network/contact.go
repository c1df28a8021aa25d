package network

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"libshmem"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/proxy"
)

// PEs can meet at a launcher and still not reach each other over the network for data: a firewall
// closes its ports, or an address leads to another machine. Nothing reports that, because most
// providers connect with the first operation, and then try for ever and refuse operations as if a
// queue were full. So init ends with a request to other hosts over that network, and waits for
// their replies.

// contactPause is the longest pause between polls for replies.
const contactPause = time.Millisecond

// hostName returns the name of this PE's host for messages, the same that shmem-doctor prints:
// SHMEM_HOST_ID if it is set, else the system's host name.
func (nw *Network) hostName() string {
	if nw.Settings.HostID != "" {
		return nw.Settings.HostID
	}
	name, _ := os.Hostname()
	return name
}

// place describes a PE by its host and address, for errors.
func (nw *Network) place(pe libshmem.PE, all [][]meet.EndpointInfo) string {
	return fmt.Sprintf("PE %d on host %s, at %s", pe, all[nw.Nodes.Leader(pe)][0].Host, nw.Engine.Report.AddressText(pe))
}

// contact sends PEs of other hosts a request, and waits until all have replied. Only the first PE
// of each host does. It contacts the PEs to which it sends in the first barrier, log2 of the number
// of hosts: to these PEs it needs a connection in any case.
func (nw *Network) contact(all [][]meet.EndpointInfo) error {
	if nw.Nodes.Leader(nw.Me) != nw.Me {
		return nil
	}
	var open []*proxy.Contact
	leaders, node := nw.Nodes.Leaders(), nw.Nodes.Node(nw.Me)
	for distance := 1; distance < len(leaders); distance *= 2 {
		if pe := leaders[(node+distance)%len(leaders)]; len(all[pe][0].Addr) > 0 {
			open = append(open, &proxy.Contact{PE: pe})
		}
	}
	pause := contactPause / 100
	for end := time.Now().Add(nw.Settings.BootstrapTimeout); ; {
		var err error
		open, err = nw.pending(open)
		switch {
		case err != nil:
			return nw.noContact(all, open, err)
		case len(open) == 0:
			return nil
		case time.Now().After(end):
			return nw.noContact(all, open, nil)
		}
		time.Sleep(pause)
		pause = min(2*pause, contactPause)
	}
}

// pending polls, and returns the contacts that have not replied. After an error of TryContact, the
// first of them is the PE that cannot be reached; after an error of Poll they are all of open.
func (nw *Network) pending(open []*proxy.Contact) (still []*proxy.Contact, err error) {
	nw.Engine.WithLock(func() {
		if _, err = nw.Engine.Poll(); err != nil {
			still = open
			return
		}
		for i, c := range open {
			replied := false
			if replied, err = nw.Engine.TryContact(c); err != nil {
				still = open[i:]
				return
			}
			if !replied {
				still = append(still, c)
			}
		}
	})
	return still, err
}

// noContact returns an error that names this host and that of the first contact of open, which it
// does not reach, with their addresses. A nil cause: no reply has arrived in time.
func (nw *Network) noContact(all [][]meet.EndpointInfo, open []*proxy.Contact, cause error) error {
	what, remedy := "", ""
	if cause != nil {
		what = cause.Error()
	} else {
		others := "with"
		what = "the provider has made no connection"
		if open[0].Sent() {
			what, others = "no answer has come", "from"
		}
		what += fmt.Sprintf(" within %v", nw.Settings.BootstrapTimeout)
		if n := len(open) - 1; n > 0 {
			what += fmt.Sprintf(", nor %s %d more hosts", others, n)
		}
		remedy = "; SHMEM_BOOTSTRAP_TIMEOUT waits longer"
	}
	return fmt.Errorf("reach other hosts over %s: %s, does not reach %s: %s (open the ports between these addresses, or name other "+
		"interfaces in SHMEM_NIC_LIST%s; run shmem-doctor on both hosts)",
		nw.nicName(), nw.place(nw.Me, all), nw.place(open[0].PE, all), what, remedy)
}

// nicName names the provider and the NICs, for errors.
func (nw *Network) nicName() string { return nw.Provider() + " on " + nw.Engine.Caps().Domain }

// checkAddresses fails if PEs of different networks have the same IP address, such as that of the
// bridge of a container engine: each would connect to itself there, and never to the other.
func (nw *Network) checkAddresses(all [][]meet.EndpointInfo) error {
	if !nw.JobInfo.SeveralNetworks {
		return nil
	}
	of := map[netip.Addr]libshmem.PE{}
	for pe := range libshmem.PE(nw.NPEs) {
		at, ok := nw.Engine.Report.Socket(pe)
		if !ok {
			continue
		}
		first, known := of[at.Addr()]
		if !known {
			of[at.Addr()] = pe
			continue
		}
		if nw.JobInfo.NetworkFirst[first] != nw.JobInfo.NetworkFirst[pe] {
			return fmt.Errorf("reach other hosts over %s: %s, and %s, have the same address, so each reaches only itself (name interfaces "+
				"with an address of each host in SHMEM_NIC_LIST; run shmem-doctor on both hosts)", nw.nicName(), nw.place(first, all), nw.place(pe, all))
		}
	}
	return nil
}
