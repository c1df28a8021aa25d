package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/job/place"
	"libshmem/runtime/topo"
)

// printTopology draws a machine and the NICs that its PEs would use: this one with libfabric's
// offers on it, or the one that a file describes.
func printTopology(w io.Writer, cfg *config.Config, file string) error {
	m, r, picks, err := planMachine(w, cfg, file)
	if m == nil {
		return err
	}
	if err := errors.Join(m.Draw(w, r, picks), err); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return m.Table(w, r, picks)
}

// planMachine returns a machine, its PEs and NICs, and the NICs that each PE would use. If
// libfabric refuses the NICs it returns the machine with the error. What the reader should know in
// addition is written to w.
func planMachine(w io.Writer, cfg *config.Config, file string) (*topo.Machine, topo.Request, [][]topo.Pick, error) {
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return nil, topo.Request{}, nil, err
	}
	var m *topo.Machine
	var nics []ofi.NIC
	var refused error
	if file == "" {
		if m, err = place.Machine(); err != nil {
			fmt.Fprintf(w, "without hwloc: %v\n", err)
		}
		nics, refused = usableNICs(cfg, &s)
	} else {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, topo.Request{}, nil, fmt.Errorf("read topology: %w (name a file that lstopo --of xml has written)", err)
		}
		if m, err = topo.ReadXML(text, file); err != nil {
			return nil, topo.Request{}, nil, err
		}
		nics = nicsOfFile(m, &s)
	}
	r, _ := s.Request(nics, m.Everybody())
	picks, err := m.Plan(r)
	return m, r, picks, errors.Join(err, refused)
}

// usableNICs returns the NICs that libfabric would allow a job of this machine to use.
func usableNICs(cfg *config.Config, s *place.Settings) ([]ofi.NIC, error) {
	c, err := ofi.Choose(cfg.Libfabric, s.Hints(cfg))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Candidates(), nil
}

// nicsOfFile returns the NICs of a machine that is known only from a file, as far as the settings
// allow them. A job uses one IP interface unless the user names several.
func nicsOfFile(m *topo.Machine, s *place.Settings) []ofi.NIC {
	var nics []ofi.NIC
	for _, n := range m.Candidates() {
		d := m.Find(n.PCI, "") // by its address alone; a candidate is among the devices
		if s.Allows(n.Name) {
			nics = append(nics, ofi.NIC{Name: n.Name, PCI: n.PCI, IP: d.Kind == topo.Ethernet})
		}
	}
	if len(nics) > 1 && nics[0].IP && !s.Named() {
		nics = nics[:1]
	}
	return nics
}
