package topo

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of testdata/assign anew")

// TestGolden holds the assignment for each case of testdata/assign, in the form in which shmem-info
// prints it. Above the line of dashes stands the case:
//
//	xml FILE                   the machine is testdata/machines/FILE
//	socket CPUS, node N CPUS   else it is made of these, and of
//	gpu|rdma|eth PCI CPUS BRIDGES [NAMES]
//	here PCI...                GPUs that may be used
//	pe gpu=PCI cpus=CPUS       a PE of the job; without any, one on each GPU
//	nics NAMES                 the network has these; without, the machine's
//	listed, in turn, mapping TEXT   settings
//	draw                       the tree is held too
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/assign/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d cases, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			about, want, _ := strings.Cut(string(text), "----\n")
			m, r := parseCase(t, about)
			var got strings.Builder
			picks, err := m.Plan(r)
			if err != nil {
				fmt.Fprintln(&got, err)
			} else {
				if strings.Contains(about, "\ndraw\n") {
					err = m.Draw(&got, r, picks)
				}
				if err = errors.Join(err, m.Table(&got, r, picks)); err != nil {
					t.Fatal(err)
				}
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(about+"----\n"+got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

func parseCase(t *testing.T, about string) (*Machine, Request) {
	t.Helper()
	m := &Machine{Name: "made", Source: "by hand"}
	var r Request
	var here []string
	set := func(text string) Set {
		s, err := ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for line := range strings.Lines(about) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		rest := strings.Join(f[1:], " ")
		switch f[0] {
		case "xml":
			m = readMachine(t, rest)
		case "socket":
			m.Packages = append(m.Packages, set(rest))
			m.CPUs = NewSet(append(m.CPUs.List(), set(rest).List()...)...)
		case "node":
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			m.Nodes = append(m.Nodes, Node{n, set(f[2])})
		case "gpu", "rdma", "eth":
			d := Device{Kind: map[string]Kind{"gpu": GPU, "rdma": RDMA, "eth": Ethernet}[f[0]], PCI: f[1], Names: f[4:]}
			if d.Bridges = strings.Split(f[3], "/"); f[2] != "?" {
				d.CPUs = set(f[2])
			}
			m.Devices = append(m.Devices, d)
		case "here":
			here = f[1:]
		case "pe":
			var p Process
			for _, word := range f[1:] {
				key, value, _ := strings.Cut(word, "=")
				if key == "gpu" {
					p.GPU = value
				} else {
					p.CPUs = set(value)
				}
			}
			r.PEs = append(r.PEs, p)
		case "nics":
			for _, n := range f[1:] {
				r.NICs = append(r.NICs, NIC{Name: n})
			}
		case "draw":
		case "listed":
			r.All = true
		case "in":
			r.InTurn = true
		case "mapping":
			var err error
			if r.Mapping, err = ParseMapping(rest); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("line %q", line)
		}
	}
	m.Only(here)
	if r.NICs == nil {
		r.NICs = m.Candidates()
	}
	if r.PEs == nil {
		r.PEs = m.Everybody()
	}
	return m, r
}

func readMachine(t testing.TB, name string) *Machine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "machines", name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadXML(text, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
