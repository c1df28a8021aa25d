package examples

import (
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// whole is for make test-full.
var whole = flag.Bool("whole", false, "run the programs with the sizes that they have by themselves")

// A real program computes something at scale and compares it with a serial result.
type real struct {
	name string
	more []string // for the compiler
	// small are arguments with which the program takes seconds on a busy machine; without any it
	// uses larger sizes.
	small []string
	// says is its last output: its verification, and a rate.
	says string
	// bad are arguments that it refuses, and why.
	bad map[string]string
}

var reals = []real{
	{
		name: "sort", small: []string{"200003"},
		says: `^sort: \d+ keys on \d PEs, as a serial sort has them: [0-9.]+ s, [0-9.]+ million keys/s\n$`,
		bad: map[string]string{
			"many": "sort: PE 0: read the arguments: one number is expected (usage: sort [keys])",
			"-5":   "sort: PE 0: read the arguments: one number is expected (usage: sort [keys])",
		},
	},
	{
		name: "gups", small: []string{"1009", "5000"},
		says: `^gups: \d+ updates of \d+ words on \d PEs, as serial ones: [0-9.]+ s, [0-9.]+ GUPS\n$`,
		bad: map[string]string{
			"0":  "gups: PE 0: read the arguments: positive numbers are expected",
			"-5": "gups: PE 0: read the arguments: positive numbers are expected",
		},
	},
	{
		name: "eager", small: []string{"8", "20"},
		says: `^eager: \d PEs, \d+ tokens of 7168 bytes, tiles of \d+: [0-9.]+ us a round\n$`,
		bad: map[string]string{
			"0":    "eager: PE 0: read the arguments: positive numbers are expected",
			"5 -1": "eager: PE 0: read the arguments: positive numbers are expected",
		},
	},
	{
		name: "heat", small: []string{"97", "61", "60"},
		says: `^heat: \d+ steps of \d+ x \d+ points on \d x \d PEs, as a serial run to the last bit: [0-9.]+ s, [0-9.]+ million points/s\n$`,
		bad: map[string]string{
			"1":                       "heat: PE 0: divide the plate: a PE would have no point of it (take a larger plate)",
			"20 20 1 /nowhere/it.png": "heat: PE 0: write the picture: the file cannot be written (name another file)",
		},
	},
	{
		name: "pagerank", small: []string{"10"},
		says: `^pagerank: most is led to .*\npagerank: 117659 nodes, 377592 edges, \d+ iterations on \d PEs, within [0-9.e-]+ of a serial run: [0-9.]+ s, [0-9.]+ million edges/s\n$`,
		bad: map[string]string{
			"-5":         "pagerank: PE 0: read the arguments: a positive number is expected",
			"5 /nowhere": "pagerank: PE 0: read WordNet: a file is missing (apt-get install wordnet-base, or name its folder)",
		},
	},
	{
		name: "halo3d", more: []string{"-pthread"}, small: []string{"23", "19", "17", "12", "3"},
		says: `^halo3d: \d+ steps of \d+ x \d+ x \d+ points on \d x \d x \d PEs with \d threads, as a serial run to the last bit: [0-9.]+ s, [0-9.]+ million points/s\n$`,
		bad:  map[string]string{"5 5 5 1 65": "halo3d: PE 0: start the threads: there may be 64 (use fewer)"},
	},
}

// places returns the hosts of a run; shmemrun takes the options.
func places() map[string][]string {
	tcp := []string{"-x", "SHMEM_PROVIDER=tcp"}
	out := map[string][]string{
		"node-3":  {"-n", "3"},
		"hosts-4": append([]string{"-n", "4", "--hosts", "2"}, tcp...),
	}
	if !need.Left("real programs") {
		out["chaos-3"] = append([]string{"-n", "3", "--chaos", "5,delay=300us"}, tcp...)
	}
	for pes := 1; *whole && pes <= 8; pes++ {
		n := strconv.Itoa(pes)
		out["node-"+n] = []string{"-n", n}
		if pes >= 3 {
			out["hosts-3-"+n] = append([]string{"-n", n, "--hosts", "3"}, tcp...)
		}
	}
	return out
}

func TestRealPrograms(t *testing.T) {
	for _, p := range reals {
		program := example(t, p.name, p.name, p.more...)
		for place, how := range places() {
			t.Run(p.name+"/"+place, func(t *testing.T) {
				args := append(append([]string{}, how...), program)
				// Each update of gups is a message between hosts, and under chaos each message
				// waits.
				if !*whole || p.name == "gups" && !strings.HasPrefix(place, "node") {
					args = append(args, p.small...)
				}
				r := shmemrun(t, nil, args...)
				if r.status != 0 || !regexp.MustCompile(p.says).MatchString(r.stdout) {
					t.Errorf("%s: %v", strings.Join(args, " "), r)
				}
			})
		}
		for bad, why := range p.bad {
			t.Run(p.name+"/"+bad, func(t *testing.T) {
				r := shmemrun(t, nil, append([]string{"-n", "2", program}, strings.Fields(bad)...)...)
				stderr := strings.ReplaceAll(r.stderr, "PE 1:", "PE 0:") // whichever PE is first
				if r.status != 1 || !strings.Contains(stderr, why) {
					t.Errorf("it does not fail with %q: %v", why, r)
				}
			})
		}
	}
}

// TestPicture makes heat draw its plate.
func TestPicture(t *testing.T) {
	name := filepath.Join(t.TempDir(), "heat.png")
	r := shmemrun(t, nil, "-n", "2", example(t, "heat", "heat"), "33", "21", "40", name)
	if r.status != 0 {
		t.Fatal(r)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 33 || size.Y != 21 {
		t.Errorf("the picture has %v points", size)
	}
	// The hot disk is bright, the lower right corner has stayed cold.
	hot, _, _, _ := img.At(11, 12).RGBA()
	cold, _, _, _ := img.At(32, 20).RGBA()
	if hot < 0x8000 || cold > 0x1000 {
		t.Errorf("red is %#x where it is hot and %#x where it is cold", hot, cold)
	}
}
