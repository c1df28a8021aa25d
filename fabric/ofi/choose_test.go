package ofi

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/runtime/shmerr"
)

// machine answers as a machine with these offers would: "provider NIC address", or
// with a speed in place of the address, "100G". Behind the last may stand the fabric, with
// a ? where it comes second.
type machine []string

func (m machine) list(provider string) []*offer {
	var offers []*offer
	for _, line := range m {
		f := strings.Fields(line)
		o := &offer{Offer: Offer{Provider: f[0], NIC: f[1]}}
		if last := f[len(f)-1]; strings.HasPrefix(last, "efa") && len(f) > 1 {
			o.Fabric, o.secondChoice = strings.TrimSuffix(last, "?"), strings.HasSuffix(last, "?")
			f = f[:len(f)-1]
		}
		if gigabits, ok := strings.CutSuffix(f[len(f)-1], "G"); ok {
			n, err := strconv.Atoi(gigabits)
			if err != nil {
				panic(err)
			}
			o.speed = uint64(n) * 1e9
		} else if len(f) > 2 {
			o.address = netip.MustParseAddr(f[2])
		}
		// Where tcp has no datagrams of its own, libfabric answers to that
		// name with the layer over it.
		if p := strings.ToLower(provider); p == "" || o.Provider == p || strings.HasPrefix(o.Provider, p+";") {
			offers = append(offers, o)
		}
	}
	return offers
}

var (
	debian = machine{
		"tcp;ofi_rxm eth0 192.0.2.2", "tcp;ofi_rxm lo 127.0.0.1", "shm shm",
		"net eth0 fe80::1", "net eth0 fd00::2", "net docker0 172.17.0.1", "net lo 127.0.0.1", "net eth0 192.0.2.2",
		"sockets eth0 192.0.2.2", "udp;ofi_rxd eth0 192.0.2.2", "net;ofi_rxm eth0 192.0.2.2",
	}
	// As debian and newer, with providers whose connections the library makes.
	proven  = append(machine{"net;msg lo 127.0.0.1", "net;msg eth0 192.0.2.2"}, debian...)
	proven2 = append(machine{"tcp;msg eth0 192.0.2.2"}, newer...)
	newer   = machine{"tcp eth0 192.0.2.2", "tcp;ofi_rxm eth0 192.0.2.2", "tcp lo 127.0.0.1"}
	aws     = append(machine{"efa rdmap0s6-rdm", "efa rdmap16s27-rdm"}, newer...)
	mixed   = machine{"verbs;ofi_rxm mlx5_0", "verbs;ofi_rxm mlx5_1", "net ib0 192.0.2.9"}
	alone   = machine{"net lo 127.0.0.1", "shm shm", "tcp;ofi_rxm lo 127.0.0.1"}
	partial = machine{"tcp lo 127.0.0.1", "udp;ofi_rxd eth0 192.0.2.2"}
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name           string
		on             machine
		provider, nics string
		want           string // provider, NIC and address, or a part of the error
	}{
		{"datagrams of TCP's own before the layer", debian, "", "", "net eth0 192.0.2.2"},
		{"under its newer name", newer, "", "", "tcp eth0 192.0.2.2"},
		{"connections with a proof before datagrams", proven, "", "", "net;msg eth0 192.0.2.2"},
		{"under their newer name", proven2, "", "", "tcp;msg eth0 192.0.2.2"},
		{"insisted on TCP, with a proof", proven, "tcp", "", "net;msg eth0 192.0.2.2"},
		{"insisted on connections", proven, "TCP;msg", "", "net;msg eth0 192.0.2.2"},
		{"insisted on datagrams", proven, "net", "", "net eth0 192.0.2.2"},
		{"the NIC's own provider first", aws, "", "", "efa rdmap0s6-rdm invalid IP"},
		{"first of several NICs", mixed, "", "", "verbs;ofi_rxm mlx5_0 invalid IP"},
		{"listed NIC", mixed, "", "mlx5_1", "verbs;ofi_rxm mlx5_1 invalid IP"},
		{"NIC without the provider's suffix", aws, "", "rdmap16s27", "efa rdmap16s27-rdm invalid IP"},
		{"excluded NICs", mixed, "", "^mlx5_0,mlx5_1", "net ib0 192.0.2.9"},
		{"loopback where nothing else is", alone, "", "", "net lo 127.0.0.1"},
		{"a worse provider rather than loopback", partial, "", "", "udp;ofi_rxd eth0 192.0.2.2"},
		{"loopback by name", debian, "", "lo", "net lo 127.0.0.1"},
		{"interface of containers by name", debian, "", "docker0", "net docker0 172.17.0.1"},
		{"insisted", debian, "tcp;ofi_rxm", "", "tcp;ofi_rxm eth0 192.0.2.2"},
		{"insisted, in capitals", debian, "UDP;OFI_RXD", "", "udp;ofi_rxd eth0 192.0.2.2"},
		{"insisted on TCP of any kind", debian, "tcp", "", "net eth0 192.0.2.2"},
		{"insisted on the layer's lower part", mixed, "verbs", "", "verbs;ofi_rxm mlx5_0 invalid IP"},
		{"insisted on what is taken by name only", debian, "shm", "", "shm shm invalid IP"},
		{"no such provider", debian, "tpc", "", `choose provider "tpc": SHMEM_PROVIDER names none that answers here; these do: net, tcp;ofi_rxm, udp;ofi_rxd, net;ofi_rxm, shm`},
		{"no such provider, nearest", debian, "tcp;ofirxm", "", "the nearest name is tcp;ofi_rxm"},
		{"refused", debian, "SOCKETS", "", `choose provider "SOCKETS": no job gets it: it hangs`},
		{"nothing but what is refused", machine{"sockets eth0 192.0.2.2"}, "", "", "none of no provider leads"},
		{"no such NIC", debian, "", "ib0", "SHMEM_NIC_LIST=ib0 allows none of"},
		{"provider and NIC apart", mixed, "net", "mlx5_0", "SHMEM_NIC_LIST=mlx5_0 allows none of ib0"},
		{"one host only", machine{"shm shm"}, "", "", "none of shm leads to other hosts"},
		{"nothing", machine{}, "", "", "none of no provider leads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := find(c.on, Hints{Provider: c.provider, NICs: c.nics})
			got := ""
			if err != nil {
				got = err.Error()
				if !errors.Is(err, shmerr.ErrNoProvider) && !errors.Is(err, shmerr.ErrSetting) {
					t.Errorf("error %v has no status", err)
				}
			} else {
				got = o.Provider + " " + o.NIC + " " + o.address.String()
			}
			if err == nil && got != c.want || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Several NICs are taken where they are named, and unasked where they are made for
// it and are alike.
func TestChoose(t *testing.T) {
	p5 := append(machine{"efa rdmap0-rdm 100G", "efa rdmap2-rdm 100G", "efa rdmap1-rdm 100G", "efa rdmap9-rdm 25G"}, newer...)
	two := machine{"net eth1 198.18.32.1", "net eth0 198.18.0.1", "net lo 127.0.0.1", "net eth0 fe80::1", "sockets eth0 198.18.0.1"}
	last := func(nics []NIC) ([]int, error) { return []int{len(nics) - 1, 0}, nil }
	for _, c := range []struct {
		name string
		on   machine
		nics string
		pick func([]NIC) ([]int, error)
		want string
	}{
		{"one interface of tcp", two, "", last, "eth1"},
		{"listed, in that order", two, "eth0,eth1", nil, "eth0 eth1"},
		{"the other order", two, "eth1, eth0", nil, "eth1 eth0"},
		{"excluded", two, "^eth1", nil, "eth0"},
		{"loopback is no way out of the host", two, "eth0,lo", nil, "eth0"},
		{"loopback alone", two, "lo", nil, "lo"},
		{"all that are as fast", p5, "", nil, "rdmap0-rdm rdmap1-rdm rdmap2-rdm"},
		{"picked NICs, in the order of the pick", p5, "", last, "rdmap2-rdm rdmap0-rdm"},
		{"picked from a list", two, "eth0,eth1", last, "eth1 eth0"},
		{"nothing to pick from", p5, "rdmap9", last, "rdmap9-rdm"},
		{"all but one", p5, "^rdmap1", nil, "rdmap0-rdm rdmap2-rdm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.on, Hints{NICs: c.nics, Pick: c.pick})
			if err != nil {
				t.Fatal(err)
			}
			if names := strings.Join(got.NICs(), " "); names != c.want {
				t.Errorf("got %s, want %s", names, c.want)
			}
		})
	}
	var seen []NIC
	refuse := errors.New("none of these")
	_, err := choose(two, Hints{NICs: "eth0,eth1", Pick: func(nics []NIC) ([]int, error) { seen = nics; return nil, refuse }})
	if !errors.Is(err, refuse) || !slices.Equal(seen, []NIC{{Name: "eth0", IP: true}, {Name: "eth1", IP: true}}) {
		t.Errorf("picked from %v, error %v", seen, err)
	}
	_, err = choose(two, Hints{NICs: "eth7", Setting: "SHMEM_NIC_PE_MAPPING"})
	if err == nil || !strings.Contains(err.Error(), "SHMEM_NIC_PE_MAPPING=eth7 allows none of eth1, eth0") {
		t.Errorf("error %v", err)
	}
}

func TestPreferenceIsComplete(t *testing.T) {
	var names []string
	for _, p := range preference {
		if p.reason == "" || slices.Contains(names, p.provider) {
			t.Errorf("provider %q: reason %q, or listed twice", p.provider, p.reason)
		}
		names = append(names, p.provider)
	}
}

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		nic, list string
		want      bool
	}{
		{"eth0", "", true},
		{"eth0", "^", true},
		{"eth0", "eth0", true},
		{"eth0", "eth1, eth0", true},
		{"eth0", "eth1", false},
		{"eth0", "eth", false},
		{"eth0", "eth01", false},
		{"eth0", "^eth0", false},
		{"eth0", "^eth1,eth0", false},
		{"eth0", "^eth1,^eth0", false},
		{"eth0", "^eth1", true},
		{"mlx5_0-rdm", "mlx5_0", true},
		{"mlx5_10", "mlx5_1", false},
		{"eth0", ",", false},
	} {
		if got := allowed(c.nic, c.list); got != c.want {
			t.Errorf("%q with list %q: %v", c.nic, c.list, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"tcp", "tcp", 0}, {"tpc", "tcp", 2}, {"socket", "sockets", 1}, {"efa", "", 3}, {"", "efa", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
