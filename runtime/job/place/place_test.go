package place

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"libshmem"
	"libshmem/fabric/ofi"
	"libshmem/runtime/config"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

func machine(t *testing.T, name string) *topo.Machine {
	t.Helper()
	text, err := os.ReadFile("../../topo/testdata/machines/" + name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := topo.ReadXML(text, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// placed returns what a PE of a job takes on a machine, and what its banner says of that.
func placed(t *testing.T, m *topo.Machine, me libshmem.PE, pes []topo.Process, nics []ofi.NIC, environ ...string) (string, string, error) {
	t.Helper()
	cfg, _, err := config.Parse(environ)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadSettings(cfg)
	if err != nil {
		return "", "", err
	}
	at := &Place{Me: me}
	if at.Log, err = shmlog.Open(cfg, io.Discard); err != nil {
		t.Fatal(err)
	}
	for i, p := range pes {
		at.Neighbours = append(at.Neighbours, Neighbour{me + libshmem.PE(i), p})
	}
	picked, err := at.Pick(func() (*topo.Machine, error) { return m, nil }, &s, nics)
	var names []string
	for _, i := range picked {
		names = append(names, nics[i].Name)
	}
	return strings.Join(names, " "), at.nicChoice, err
}

// efa returns what libfabric offers on p5, with the names in the order of text.
func efa() []ofi.NIC {
	var nics []ofi.NIC
	for i := range 32 {
		nics = append(nics, ofi.NIC{Name: fmt.Sprintf("rdmap%d-rdm", i)})
	}
	slices.SortFunc(nics, func(a, b ofi.NIC) int { return strings.Compare(a.Name, b.Name) })
	return nics
}

// TestPickInEightJobs: eight jobs on one host, each with one PE on one GPU, as when only
// one PE of each group of GPUs initialises the library. Each PE is the first of its node,
// and no two take the same NIC.
func TestPickInEightJobs(t *testing.T) {
	m := machine(t, "p5-48xlarge-like.xml")
	for way, banner := range map[string]string{
		"":                                ", of 32 NICs by nearness: PIX",
		"NVSHMEM_ENABLE_NIC_PE_MAPPING=1": ", in turn",
	} {
		taken := map[string]bool{}
		for _, gpu := range m.Of(topo.GPU) {
			got, said, err := placed(t, m, 0, []topo.Process{{GPU: gpu.PCI}}, efa(), way)
			if err != nil || said != banner {
				t.Errorf("%q: banner %q, error %v", way, said, err)
			}
			for name := range strings.FieldsSeq(got) {
				if taken[name] {
					t.Errorf("%q: two PEs take %s", way, name)
				}
				taken[name] = true
			}
		}
		if want := 32; way == "" && len(taken) != want || way != "" && len(taken) != 8 {
			t.Errorf("%q: %d NICs are taken", way, len(taken))
		}
	}
}

// TestAlone: eight processes that know nothing of each other, one on each GPU, pick NICs near to it,
// and no two the same.
func TestAlone(t *testing.T) {
	m := machine(t, "p5-48xlarge-like.xml")
	nics, taken := efa(), map[string]bool{}
	for _, gpu := range m.Of(topo.GPU) {
		picked, err := Alone(func() (*topo.Machine, error) { return m, nil }, &Settings{}, gpu.PCI)(nics)
		if err != nil || len(picked) != 4 {
			t.Fatalf("GPU %s: %v, %v", gpu.PCI, picked, err)
		}
		taken[nics[picked[0]].Name] = true
	}
	if len(taken) != 8 {
		t.Errorf("eight processes begin with %d NICs", len(taken))
	}
}

func TestPick(t *testing.T) {
	m := machine(t, "p5-48xlarge-like.xml")
	two := []topo.Process{{GPU: "0000:02:00.0"}, {GPU: "0010:02:00.0"}}
	tcp := []ofi.NIC{{Name: "eth1", IP: true}, {Name: "eth0", IP: true}}
	mixed := []ofi.NIC{{Name: "b", PCI: "0001:03:00.0"}, {Name: "a", PCI: "0000:03:00.0", IP: true}}
	for _, c := range []struct {
		name, environ string
		nics          []ofi.NIC
		me            libshmem.PE
		want, banner  string
	}{
		{"the four near ones, in the order of their numbers", "", efa(), 0, "rdmap0-rdm rdmap1-rdm rdmap2-rdm rdmap3-rdm", ", of 32 NICs by nearness: PIX"},
		{"by address where names say nothing", "", []ofi.NIC{{Name: "a", PCI: "0001:03:00.0"}, {Name: "b", PCI: "0000:03:00.0"}}, 0, "b", ", of 2 NICs by nearness: PIX"},
		{"interfaces of tcp that are named are for all, in their order", "SHMEM_NIC_LIST=eth1,eth0", tcp, 0, "eth1 eth0", ""},
		{"devices that are named beside an interface are chosen by nearness", "SHMEM_NIC_LIST=b,a", mixed, 0, "a", ", of 2 NICs by nearness: PIX"},
		{"mapped", "NVSHMEM_HCA_PE_MAPPING=rdmap5:1:1,rdmap7:1:1", efa(), 0, "rdmap5-rdm", ", by SHMEM_NIC_PE_MAPPING"},
		{"interfaces of tcp that are mapped", "SHMEM_NIC_PE_MAPPING=eth0,eth1", tcp, 0, "eth0", ", by SHMEM_NIC_PE_MAPPING"},
		{"a list comes before a mapping", "SHMEM_NIC_LIST=eth0,eth1 SHMEM_NIC_PE_MAPPING=eth0", tcp, 0, "eth1 eth0", ""},
		{"in turn, of a list", "SHMEM_NIC_LIST=eth1,eth0 SHMEM_ENABLE_NIC_PE_MAPPING=1", tcp, 0, "eth1", ", in turn"},
		{"in turn", "SHMEM_ENABLE_NIC_PE_MAPPING=1", tcp, 0, "eth0", ", in turn"},
	} {
		got, banner, err := placed(t, m, c.me, two, c.nics, strings.Fields(c.environ)...)
		if err != nil || got != c.want || banner != c.banner {
			t.Errorf("%s: takes %s, banner %q, error %v; want %s, %q", c.name, got, banner, err, c.want, c.banner)
		}
	}
	if _, _, err := placed(t, m, 0, two, tcp, "SHMEM_NIC_PE_MAPPING=eth2"); err == nil || !strings.Contains(err.Error(), `names "eth2"; the NICs that can be used together are eth1, eth0`) {
		t.Errorf("a NIC that there is not: %v", err)
	}
}

// TestAllows: the settings filter the NICs of a described machine.
func TestAllows(t *testing.T) {
	for environ, want := range map[string]string{
		"":                                  "mlx5_0 mlx5_1-rdm",
		"SHMEM_NIC_LIST=mlx5_1":             "mlx5_1-rdm",
		"SHMEM_NIC_LIST=^mlx5_1":            "mlx5_0",
		"SHMEM_NIC_PE_MAPPING=mlx5_1,other": "mlx5_1-rdm",
	} {
		cfg, _, err := config.Parse([]string{environ})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, nic := range []string{"mlx5_0", "mlx5_1-rdm"} {
			if s.Allows(nic) {
				got = append(got, nic)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q allows %v, want %s", environ, got, want)
		}
	}
}
