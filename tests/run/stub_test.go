package run

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// A skip names runs between hosts over tcp that NICs of the stub leave out, by words in the names
// of programs and configurations, and the rule of the stub that is the reason.
type skip struct{ program, configuration, rule string }

// A row's comment says where its skipped runs are tested.
var skips = []skip{
	// The provider misinterprets a dma-buf. Its NICs reach GPU memory by address, as in the
	// configurations gpu-peermem-cxi.
	{"", "gpu-dmabuf-cxi", "R19d"},
}

func (s skip) takes(program, configuration string) bool {
	return strings.Contains(program, s.program) && strings.Contains(configuration, s.configuration)
}

// stubOnPush are the programs that each push runs on NICs of the stub in main memory: large puts by
// one and by four, notifications, two-sided messages, and contexts. In the configuration gpu-nic-4
// more run there, on the same network.
var stubOnPush = []string{"contexts_apart", "notify", "sendrecv", "sizes"}

// stubPEs are the numbers of PEs of programs.
const stubPEs = 4

// policies are those of SHMEM_NIC_POLICY, which the networks use in turn.
var policies = []string{"auto", "split", "round-robin"}

// stubbed returns the ways to run programs on NICs that this machine does not have
// (fabric/ofi/stub): PEs on two hosts with one NIC each and with four, and with heaps in the memory
// of a GPU.
func stubbed(all bool, pes int) (out []configuration) {
	for i, n := range stub.Networks(all) {
		add := func(kind string, n stub.Network, nic string, more ...string) {
			c := configuration{name: kind + n.Name, args: on(strconv.Itoa(pes), append(more, "--hosts", "2")...), network: &n}
			c.gpu, c.nic = nic != "", nic
			out = append(out, c)
		}
		add("", n, "")
		add("", n.NICs(4, pes), "", "-x", "SHMEM_NIC_POLICY="+policies[i%len(policies)])
		add("gpu-dmabuf-", n, "dmabuf")
		if n.Provider == "cxi" {
			add("gpu-peermem-", n, "peermem")
		}
	}
	return out
}

// betweenHosts reports whether a program runs between hosts, with its heap in main memory or in
// that of a GPU.
func (p program) betweenHosts(gpu bool) bool {
	return slices.ContainsFunc(configurations, func(c configuration) bool {
		over := slices.Contains(c.args, "--hosts") || slices.Contains(c.args, "--chaos")
		return over && c.gpu == gpu && p.runsIn(c)
	})
}

// onStub returns the configurations of the stub in which a program runs: with -whole all except the
// list's; else those of the newest network that have arguments of their own, and, with one NIC,
// those of programs that the configuration gpu-nic-4 leaves out.
func onStub(name string, all bool, pes int) (out []configuration) {
	p := programs[name]
	for _, c := range stubbed(all, pes) {
		skipped := slices.ContainsFunc(skips, func(s skip) bool { return s.takes(name, c.name) })
		if p.betweenHosts(c.gpu) && !skipped && (all || p.argsIn[c.name] != nil || !p.runsIn(gpuNIC) && c.name == stub.Newest) {
			out = append(out, c)
		}
	}
	return out
}

// TestStubNICs runs the programs between hosts over tcp on NICs of other kinds.
func TestStubNICs(t *testing.T) {
	build := need.Build(t)
	for _, name := range programNames(t) {
		ways := onStub(name, *runWhole, stubPEs)
		if ways == nil || need.Left("stub's NICs") && !slices.Contains(stubOnPush, name) {
			continue // TestPrograms runs most of these, in the configuration gpu-nic-4
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range ways {
				t.Run(c.name, func(t *testing.T) { runProgram(t, build, name, programs[name], c) })
			}
		})
	}
}

// TestStubLoads runs programs on each network with their load between two hosts over tcp, if that
// is greater than elsewhere.
func TestStubLoads(t *testing.T) {
	if !*runWhole {
		t.Skip("takes half an hour (-whole)")
	}
	build := need.Build(t)
	for _, name := range programNames(t) {
		p := programs[name]
		load := p.argsIn["hosts-2"]
		if load == nil || strings.Trim(load[0], "0123456789") != "" {
			continue // no load, but what the network does
		}
		p.args, p.argsIn = load, nil
		t.Run(name, func(t *testing.T) {
			for _, c := range onStub(name, true, 2) {
				if c.gpu {
					continue
				}
				t.Run(c.name, func(t *testing.T) { runProgram(t, build, name, p, c) })
			}
		})
	}
}

// TestSkips finds rows of the list that skip nothing, or have no rule of that provider for a
// reason; and programs between hosts that no network of the stub would run.
func TestSkips(t *testing.T) {
	rules := stub.Rules()
	took := make([]bool, len(skips))
	for _, name := range programNames(t) {
		p := programs[name]
		if (p.betweenHosts(false) || p.betweenHosts(true)) && len(onStub(name, true, stubPEs)) == 0 {
			t.Errorf("%s runs between hosts, and on no network of the stub", name)
		}
		for _, c := range stubbed(true, stubPEs) {
			for i, s := range skips {
				if !p.betweenHosts(c.gpu) || !s.takes(name, c.name) {
					continue
				}
				took[i] = true
				if !strings.HasPrefix(rules[s.rule], c.network.Provider) {
					t.Errorf("%+v takes %s on %s away, and is no rule of provider %s", s, name, c.name, c.network.Provider)
				}
			}
		}
	}
	for i, s := range skips {
		if !took[i] {
			t.Errorf("%+v takes nothing away", s)
		}
	}
}
