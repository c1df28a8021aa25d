package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"libshmem/fabric/ofi"
	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/doctor"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmem-doctor": main})
}

func TestScripts(t *testing.T) {
	// Scripts that need a GPU take the driver in $FAKE by LD_LIBRARY_PATH.
	fake, nic := cudatest.Build(t), stub.Build(t)
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(env *testscript.Env) error {
		env.Setenv("FAKE", fake)
		env.Setenv("STUB", nic)
		return nil
	}})
}

func lines(findings []doctor.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, f.String())
	}
	return strings.Join(all, "\n")
}

func TestTaken(t *testing.T) {
	for _, c := range []struct {
		offers []ofi.Offer
		want   string
	}{
		{
			[]ofi.Offer{{Provider: "efa", NIC: "rdmap0s6", Chosen: true}, {Provider: "efa", NIC: "rdmap1s6", Chosen: true}, {Provider: "tcp", NIC: "eth0"}},
			"ok  network: efa on rdmap0s6,rdmap1s6; these answer: efa, tcp",
		},
		{
			[]ofi.Offer{{Provider: "efa", NIC: "rdmap0s6", Fabric: "efa-direct", Chosen: true}, {Provider: "efa", NIC: "rdmap0s6", Fabric: "efa"}},
			"ok  network: efa on rdmap0s6, fabric efa-direct; these answer: efa",
		},
		{
			[]ofi.Offer{{Provider: "tcp", NIC: "lo", Chosen: true}},
			"-   network: tcp on lo; these answer: tcp: it leads to no other host (bring an interface up for jobs of several hosts)",
		},
		{
			[]ofi.Offer{{Provider: "net;msg", NIC: "eth0", Chosen: true}, {Provider: "net", NIC: "eth0"}},
			"ok  network: net;msg on eth0; these answer: net;msg, net",
		},
		{
			[]ofi.Offer{{Provider: "net", NIC: "eth0", Chosen: true}},
			`-   network: net on eth0; these answer: net: other users of a PE's host can take over its traffic (SHMEM_PROVIDER="tcp;msg" keeps them out, with a libfabric that has it)`,
		},
	} {
		if got := lines(chosenNetwork(c.offers)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestMute(t *testing.T) {
	silent := []ofi.Silent{{Provider: "efa", Why: "no device"}, {Provider: "verbs", Why: "no memory"}, {Provider: "psm2", Why: "no"}}
	const rest = "but it offers nothing: "
	for _, c := range []struct {
		nics []string
		want []string
	}{
		{nil, nil},
		{[]string{"hfi1_0"}, nil},
		{[]string{"rdmap16s27", "rdmap17s27"}, []string{"no  provider efa: lib has it, NIC rdmap16s27 is of its kind, but it offers nothing: no device (see the device files"}},
		{[]string{"mlx5_0"}, []string{"no  provider verbs: lib has it, NIC mlx5_0 is of its kind, " + rest + "no memory ("}},
	} {
		got := silentProviders(silent, c.nics, "lib")
		if len(got) != len(c.want) {
			t.Errorf("%v: %s", c.nics, lines(got))
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i].String(), want) {
				t.Errorf("%v: %s, want %s", c.nics, got[i], want)
			}
		}
	}
}

func TestFeatures(t *testing.T) {
	all := gpu.Facts{Major: 9, VMM: true, PosixFD: true, DMABuf: true, RDMA: true, StreamOps: true, MapHost: true}
	if got := lines(checkFeatures("GPU 0", all)); got != "ok  GPU 0: compute capability 9.0" {
		t.Error(got)
	}
	got := lines(checkFeatures("GPU 0", gpu.Facts{Major: 7}))
	for _, want := range []string{
		"-   GPU 0: compute capability 7.0 (use ", "no virtual memory management: ", "no dma-bufs: ", "no RDMA: ", "no stores and waits in streams: ", "no mapped main memory: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
