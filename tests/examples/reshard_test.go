package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// figures are the numbers of reshard's report.
type figures struct {
	loadStore, loadStorePairs int
	network, networkPairs     int
	tensors, nbytes           int
}

var reports = regexp.MustCompile(`(?s)route load/store: (\d+) bytes, (\d+) pairs of PEs
route network: (\d+) bytes, (\d+) pairs of PEs
(\d+) tensors, (\d+) bytes: all (\d+) tensors verified by SHA-256
$`)

func report(t *testing.T, r result) figures {
	t.Helper()
	m := reports.FindStringSubmatch(r.stdout)
	if r.status != 0 || m == nil {
		t.Fatal(r)
	}
	var n [7]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(m[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if n[4] != n[6] {
		t.Fatalf("%d tensors, but %d verified\n%v", n[4], n[6], r)
	}
	return figures{n[0], n[1], n[2], n[3], n[4], n[5]}
}

func TestReshard(t *testing.T) {
	reshard, model := example(t, "reshard", "reshard"), realModel(t)
	const tensors, nbytes, pairs = 15, 1238532, 4 * 3

	onNode := report(t, shmemrun(t, nil, "-n", "4", reshard, model))
	want := figures{loadStore: onNode.loadStore, loadStorePairs: pairs, tensors: tensors, nbytes: nbytes}
	if onNode != want {
		t.Fatalf("on one host: %+v, want %+v", onNode, want)
	}

	for _, c := range []struct {
		name string
		args []string
		// near is the number of pairs of PEs that share a host.
		near int
	}{
		{"two hosts", []string{"--hosts", "2"}, 4},
		{"uneven hosts", []string{"--hosts", "3,1"}, 6},
		{"cyclic", []string{"--hosts", "2", "--map", "cyclic"}, 4},
		{"namespaces", []string{"--hosts", "2", "--host-netns"}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "namespaces" {
				need.Namespaces(t)
			}
			got := report(t, shmemrun(t, nil, append(append([]string{"-n", "4"}, c.args...), reshard, model)...))
			if got.loadStorePairs != c.near || got.networkPairs != pairs-c.near {
				t.Errorf("%d and %d pairs of PEs, want %d and %d", got.loadStorePairs, got.networkPairs, c.near, pairs-c.near)
			}
			// The layouts are the same, whatever the hosts: so are the bytes.
			if got.loadStore+got.network != onNode.loadStore {
				t.Errorf("%d bytes by load/store and %d by network, on one host %d", got.loadStore, got.network, onNode.loadStore)
			}
			if got.tensors != tensors || got.nbytes != nbytes {
				t.Errorf("%d tensors of %d bytes, want %d of %d", got.tensors, got.nbytes, tensors, nbytes)
			}
		})
	}
}

// TestReshardShapes runs models with awkward sizes, through chunks that begin and end anywhere and
// slots that are nearly always full.
func TestReshardShapes(t *testing.T) {
	reshard := example(t, "reshard", "reshard")
	model := write(t, "odd.safetensors", bytesOf(t, odd))
	none := write(t, "none.safetensors", bytesOf(t, nil))
	nbytes := 0
	for _, x := range odd {
		nbytes += x.nbytes()
	}
	for _, n := range []int{1, 2, 3, 5, 8} {
		for _, pipeline := range [][]string{nil, {"--chunk", "997", "--depth", "1"}, {"--chunk", "64", "--depth", "3"}} {
			t.Run(fmt.Sprint(n, pipeline), func(t *testing.T) {
				args := append(append([]string{"-n", strconv.Itoa(n), reshard}, pipeline...), model)
				got := report(t, shmemrun(t, nil, args...))
				if got.tensors != len(odd) || got.nbytes != nbytes {
					t.Errorf("%d tensors of %d bytes, want %d of %d", got.tensors, got.nbytes, len(odd), nbytes)
				}
			})
		}
	}
	t.Run("two hosts", func(t *testing.T) {
		report(t, shmemrun(t, nil, "-n", "5", "--hosts", "2", reshard, "--chunk", "997", "--depth", "2", model))
	})
	t.Run("no tensors", func(t *testing.T) {
		if got := report(t, shmemrun(t, nil, "-n", "3", reshard, none)); got != (figures{}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestReshardVerbose(t *testing.T) {
	reshard := example(t, "reshard", "reshard")
	r := shmemrun(t, nil, "-n", "2", reshard, "-v", write(t, "odd.safetensors", bytesOf(t, odd)))
	report(t, r)
	for _, x := range odd[:len(odd)-1] {
		if !strings.Contains(r.stdout, "tensor "+x.name+" "+x.dtype+" [") {
			t.Errorf("no line for tensor %s\n%v", x.name, r)
		}
	}
	if strings.Contains(r.stdout, "\u001b") {
		t.Errorf("the name of a tensor can command the terminal\n%v", r)
	}
	if !regexp.MustCompile(`PE 0 to PE 1: \d+ bytes, load/store\n`).MatchString(r.stdout) {
		t.Errorf("no line for the pair of PEs\n%v", r)
	}
}

func TestReshardProgress(t *testing.T) {
	reshard, model := example(t, "reshard", "reshard"), realModel(t)
	r := shmemrun(t, nil, "-n", "2", reshard, "--progress", model)
	report(t, r)
	bar := "\r" + strings.Repeat("#", 40) + " 100% of 0.6 MB"
	if strings.Count(r.stderr, bar) != 1 {
		t.Errorf("no full bar\n%v", r)
	}
	r = shmemrun(t, nil, "-n", "2", reshard, model)
	report(t, r)
	if strings.Contains(r.stderr, "\r") || strings.Count(r.stderr, "100% of 0.6 MB in ") != 1 {
		t.Errorf("a bar where stderr is no terminal, or no line\n%v", r)
	}
}

// failure runs reshard where it must fail: with this one message, once.
func failure(t *testing.T, r result, message string) {
	t.Helper()
	if r.status == 0 {
		t.Fatalf("it succeeded\n%v", r)
	}
	lines := regexp.MustCompile(`(?m)^reshard: .*$`).FindAllString(r.stderr, -1)
	if len(lines) != 1 || !strings.Contains(lines[0], message) {
		t.Errorf("want one message with %q\n%v", message, r)
	}
	if strings.Contains(r.stdout, "verified") {
		t.Errorf("it claims success\n%v", r)
	}
}

// TestReshardCorrupt: the proof must notice one bit, on any PE.
func TestReshardCorrupt(t *testing.T) {
	reshard, model := example(t, "reshard", "reshard"), realModel(t)
	for _, index := range []string{"0", "7", "14"} {
		r := shmemrun(t, nil, "-n", "3", reshard, "--corrupt", index, model)
		failure(t, r, "verify 15 tensors: 1 not as in the file, the first is tensor "+index+" on PE ")
	}
}

func TestReshardBadFiles(t *testing.T) {
	reshard := example(t, "reshard", "reshard")
	good, err := os.ReadFile(realModel(t))
	if err != nil {
		t.Fatal(err)
	}
	one := func(dtype, shape, offsets string) string {
		return `"x":{"dtype":"` + dtype + `","shape":` + shape + `,"data_offsets":` + offsets + `}`
	}
	for _, c := range []struct {
		name    string
		content []byte
		message string
	}{
		{"empty", nil, "the file has 0 bytes, fewer than the 8 of its first field"},
		{"cut-in-length", good[:5], "the file has 5 bytes"},
		{"cut-in-header", good[:500], "the header has 1208 bytes, but the file only 500"},
		{"cut-in-data", good[:len(good)-1000], "the file was cut off: fetch it again"},
		{"longer", append(good[:len(good):len(good)], 0), "the last 1 bytes of data belong to no tensor"},
		{"long-header", append([]byte{0, 0, 0, 0, 0, 1, 0, 0}, good...), "is longer than the 100000000 allowed"},
		{"not-json", withHeader("weights", 0), "byte 0 of the header: expected {"},
		{"beyond", withHeader("{"+one("F32", "[2]", "[0,8]")+"}", 4), "its data ends at byte 8, but the file has 4 bytes"},
		{"overlap", withHeader("{"+one("F32", "[2]", "[0,8]")+`,"y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8),
			"tensor 'y': its data overlaps that of 'x'"},
		{"unknown-dtype", withHeader("{"+one("F4", "[2]", "[0,1]")+"}", 1), "tensor 'x': unknown dtype 'F4' (known are BOOL"},
		{"wrong-size", withHeader("{"+one("F16", "[3]", "[0,4]")+"}", 4), "its shape needs 6 bytes, data_offsets give 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			failure(t, shmemrun(t, nil, "-n", "3", reshard, write(t, c.name, c.content)), c.message)
		})
	}

	dir := t.TempDir()
	t.Run("missing", func(t *testing.T) {
		r := shmemrun(t, nil, "-n", "3", reshard, filepath.Join(dir, "none"))
		failure(t, r, "No such file or directory (give the path of a .safetensors file)")
	})
	t.Run("directory", func(t *testing.T) {
		failure(t, shmemrun(t, nil, "-n", "3", reshard, dir), "not a file (give the path of a .safetensors file)")
	})
}

func TestReshardBadArguments(t *testing.T) {
	reshard, model := example(t, "reshard", "reshard"), realModel(t)
	for _, c := range []struct {
		args    []string
		message string
	}{
		{nil, "0 model files instead of one (--help shows the usage)"},
		{[]string{model, model}, "2 model files instead of one"},
		{[]string{"--sideways", model}, "parse --sideways: unknown option"},
		{[]string{"--chunk", "0", model}, "parse 0: not a number in its range"},
		{[]string{"--depth", "9999", model}, "parse 9999: not a number in its range"},
		{[]string{"--chunk", "64k", model}, "parse 64k: not a number in its range"},
		{[]string{"--corrupt", "15", model}, "corrupt: no such tensor"},
	} {
		failure(t, shmemrun(t, nil, append([]string{"-n", "2", reshard}, c.args...)...), c.message)
	}
	r := shmemrun(t, nil, "-n", "2", reshard, "--help")
	if r.status != 0 || strings.Count(r.stdout, "usage: shmemrun -n N reshard") != 1 {
		t.Error(r)
	}
}

// TestReshardOneFails gives the PEs files of their own: as on hosts of which one has no file, or
// another one.
func TestReshardOneFails(t *testing.T) {
	reshard := example(t, "reshard", "reshard")
	dir := t.TempDir()
	for pe, tensors := range map[string][]tensor{"0": odd, "1": odd, "other": odd[1:]} {
		if err := os.WriteFile(filepath.Join(dir, pe), bytesOf(t, tensors), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("exec %s %s/$SHMEM_LAUNCHER_PE", reshard, dir)
	failure(t, shmemrun(t, nil, "-n", "3", "sh", "-c", script), "PE 2: open "+dir+"/2: No such file")

	if err := os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "2")); err != nil {
		t.Fatal(err)
	}
	failure(t, shmemrun(t, nil, "-n", "3", "sh", "-c", script), "PE 2: open "+dir+"/2: its header is not that of PE 0's file")
}

// TestReshardSmallHeap: the message names a size, and that size is enough.
func TestReshardSmallHeap(t *testing.T) {
	reshard, model := example(t, "reshard", "reshard"), realModel(t)
	r := shmemrun(t, []string{"SHMEM_SYMMETRIC_SIZE=1m"}, "-n", "4", reshard, model)
	failure(t, r, "the symmetric heap is too small (set SHMEM_SYMMETRIC_SIZE=")
	size := regexp.MustCompile(`SHMEM_SYMMETRIC_SIZE=\d+m`).FindString(r.stderr)
	report(t, shmemrun(t, []string{size}, "-n", "4", reshard, model))
}

// TestUnits builds the parts of reshard that need no other PE into a program
// of their own, with sanitizers.
func TestUnits(t *testing.T) {
	program := filepath.Join(programs, "units")
	reshard := filepath.Join(sources, "reshard")
	args := []string{"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-I" + reshard, "-o", program,
		filepath.Join("testdata", "units.c")}
	for _, f := range []string{"json.c", "layout.c", "safetensors.c", "sha256.c"} {
		args = append(args, filepath.Join(reshard, f))
	}
	compile(t, args...)
	r := command(t, nil, program)
	if r.status != 0 || !regexp.MustCompile(`(?m)^[1-9]\d* passed, 0 failed$`).MatchString(r.stdout) {
		t.Fatal(r)
	}
}

// TestDemo runs the programs of `make demo`, with the small model.
func TestDemo(t *testing.T) {
	settings := []string{"BUILD=" + build}
	r := command(t, settings, filepath.Join(sources, "demo.sh"), realModel(t))
	if r.status != 0 || strings.Count(r.stdout, "all 15 tensors verified by SHA-256") != 2 {
		t.Fatal(r)
	}
	if n := strings.Count(r.stdout, "wrote to me"); n != 8 {
		t.Errorf("%d lines of the ring, want 8\n%v", n, r)
	}
}
