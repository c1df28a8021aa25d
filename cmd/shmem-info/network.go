package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/fabric/rail"
	"libshmem/runtime/config"
	"libshmem/runtime/job/place"
	"libshmem/runtime/proxy"
)

// describeLibfabric returns the file and version of the libfabric that a job would load, or why
// there is none.
func describeLibfabric(cfg *config.Config) string {
	lib, err := ofi.Load(cfg.Libfabric)
	if err != nil {
		return "not found, jobs on one host only: " + err.Error()
	}
	return lib.File + ", version " + lib.Version
}

// printNetwork lists libfabric's offers, best first. Those that a job would choose have a mark, the
// others the reason why not. Then it prints what the chosen NICs provide once they are open.
func printNetwork(w io.Writer, cfg *config.Config) error {
	s, err := place.ReadSettings(cfg)
	if err != nil {
		return err
	}
	hints := s.Hints(cfg)
	offers, err := ofi.List(cfg.Libfabric, hints) // with an error it returns the offers, too
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
	fmt.Fprintln(w, "\n* marks a job's choice between hosts with these settings; if there are several NICs, --topology shows which PE uses which")
	return printGranted(w, cfg, hints)
}

// openChosen opens the NICs that a job would choose. Like a job it opens several NICs as one
// provider, because together they guarantee less than each of them.
func openChosen(want fabric.Config) (fabric.Provider, error) {
	choice, err := ofi.Choose(want.Library, ofi.Hints{Provider: want.Provider, Fabric: want.Fabric, NICs: want.NICs, GPU: want.GPU})
	if err != nil {
		return nil, err
	}
	defer choice.Close()
	if len(choice.NICs()) > 1 {
		ends, err := choice.Open(rail.Inner(want))
		if err != nil {
			return nil, err
		}
		return rail.New(ends, rail.Config{Config: want})
	}
	ends, err := choice.Open(want)
	if err != nil {
		return nil, err
	}
	return ends[0], nil
}

// jobConfig returns the configuration with which a job opens its provider, so that this command
// finds what a job would find.
func jobConfig(cfg *config.Config, hints ofi.Hints) fabric.Config {
	want := proxy.ProviderConfig(2) // of two PEs, the smallest job with a network
	want.Provider, want.Fabric, want.NICs, want.Library = cfg.Provider, cfg.Fabric.Named(), hints.NICs, cfg.Libfabric
	want.Data, want.Fence, want.Atomics, want.Blocks, want.GPU = true, true, true, true, hints.GPU
	return want
}

// printFabric prints the chosen fabric, the options that libfabric has accepted or refused, and why
// libfabric does not know the memory of GPUs.
func printFabric(w io.Writer, cfg *config.Config, p fabric.Provider) error {
	c := p.Caps()
	fmt.Fprintf(w, "\nfabric: %s\n", c.Fabric)
	if notes := fabric.NotesOf(p); len(notes) > 0 {
		fmt.Fprintf(w, "set or refused: %s\n", strings.Join(notes, "; "))
	}
	if c.GPU || fabric.OverSockets(c.Provider) {
		return nil
	}
	lib, err := ofi.Load(cfg.Libfabric)
	if err != nil {
		return err
	}
	for _, o := range lib.Obstacles(os.Environ()) {
		fmt.Fprintf(w, "no memory of GPUs: %s\n", o)
	}
	return nil
}

// describeTiles returns a text on the largest tile of eager transfers between hosts (a piece whose
// bytes the network delivers in order), and whether the provider or the user has set its size.
func describeTiles(c *fabric.Caps, cfg *config.Config) string {
	by := "as the NIC grants"
	if cfg.Ordered != config.OrderedAuto {
		by = "by SHMEM_ORDERED_BYTES=" + cfg.Ordered.String()
	}
	if tile := c.Tile(cfg.Ordered.Bytes()); tile > 0 {
		return fmt.Sprintf("tiles of %d bytes, %s", tile, by)
	}
	if c.Notified() > 0 {
		return "no tiles, " + by + ": a token is a write with a notification"
	}
	return "no tiles, " + by + ": a token is a put with a signal"
}

// describeOrder returns a text on whether a put with a signal arrives after earlier puts.
func describeOrder(c *fabric.Caps) string {
	if c.SendAfterWrite {
		return "in order: the signal of the last one announces all"
	}
	return "in any order: a signal announces its own put alone, or all before a fence"
}

// printGranted opens the NICs that a job would choose, and prints which of the properties that
// SHMEM_REQUIRE can name they have, and what that means for puts and eager transfers.
func printGranted(w io.Writer, cfg *config.Config, hints ofi.Hints) error {
	p, err := openChosen(jobConfig(cfg, hints))
	if err != nil {
		return err
	}
	c := p.Caps()
	if err := printFabric(w, cfg, p); err != nil {
		return errors.Join(err, p.Close())
	}
	fmt.Fprintf(w, "\nopened, %s on %s grants, of the words of SHMEM_REQUIRE (a NIC by itself):\n", c.Provider, c.Domain)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, property := range fabric.Properties {
		has := "no"
		if property.Has(&c) {
			has = "yes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", has, property.Name, property.Text)
	}
	err = t.Flush()
	fmt.Fprintf(w, "puts of the host by this network: %s\n", describeOrder(&c))
	fmt.Fprintf(w, "eager transfers of the host by this network: %s\n", describeTiles(&c, cfg))
	if !hints.GPU {
		fmt.Fprintln(w, "GPUs were left alone: SHMEM_HEAP=device asks for their memory, for which a provider may make a context on one")
	}
	return errors.Join(err, p.Close())
}
