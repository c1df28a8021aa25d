package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy"
)

// libfabric says which library a job would load.
func libfabric(cfg *config.Config) string {
	lib, err := ofi.Load(cfg.Libfabric)
	if err != nil {
		return "not found, jobs on one host only: " + err.Error()
	}
	return lib.File + ", version " + lib.Version
}

// network lists the candidates, best first, each chosen or why not, and what the
// chosen one promises when it is open.
func network(w io.Writer, cfg *config.Config) error {
	nics := strings.Join(cfg.NICs, ",")
	offers, err := ofi.List(cfg.Libfabric, cfg.Provider, nics)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(offers) > 0 {
		fmt.Fprintln(t, " \tprovider\tNIC\tnetwork\twhy not")
	}
	for _, o := range offers {
		mark, why := " ", o.Why
		if o.Chosen {
			mark, why = "*", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", mark, o.Provider, o.NIC, o.Fabric, why)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(offers) > 0 {
		silent, err := ofi.ListSilent(cfg.Libfabric)
		if err != nil {
			return err
		}
		for _, s := range silent {
			fmt.Fprintf(w, "  %s: no offer: %s\n", s.Provider, s.Why)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\n* is what a job takes between hosts with these settings")
	return granted(w, cfg)
}

// granted opens what would be taken, and prints what SHMEM_REQUIRE can ask of it.
func granted(w io.Writer, cfg *config.Config) error {
	want := proxy.Config(2)
	want.Provider, want.NICs, want.Library = cfg.Provider, strings.Join(cfg.NICs, ","), cfg.Libfabric
	want.Data, want.Fence, want.Atomics, want.GPU = true, true, true, true
	p, err := ofi.Open(want)
	if err != nil {
		return err
	}
	c := p.Caps()
	fmt.Fprintf(w, "\nopened, %s on %s grants, of what SHMEM_REQUIRE may name (a NIC by itself):\n", c.Provider, c.Domain)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, property := range fabric.Properties {
		has := "no"
		if property.Has(&c) {
			has = "yes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", has, property.Name, property.Text)
	}
	return errors.Join(t.Flush(), p.Close())
}
