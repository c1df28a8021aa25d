package meet

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/topo"
	"libshmem/tests/need"
)

// TestCrowded has the processor sets that launchers give.
func TestCrowded(t *testing.T) {
	set := func(cpus ...int) topo.Set { return topo.NewSet(cpus...) }
	four := set(0, 1, 2, 3)
	for name, c := range map[string]struct {
		sets []topo.Set
		want []bool
	}{
		"as many PEs as processors":          {[]topo.Set{four, four, four, four}, []bool{false, false, false, false}},
		"one PE more":                        {[]topo.Set{set(0, 1), set(0, 1), set(0, 1)}, []bool{true, true, true}},
		"each bound to its own":              {[]topo.Set{set(0), set(1), set(2), set(3)}, []bool{false, false, false, false}},
		"two bound to one":                   {[]topo.Set{set(0), set(0), set(1)}, []bool{true, true, false}},
		"two bound to one beside a free one": {[]topo.Set{set(2), four, set(2)}, []bool{true, false, true}},
		"bound ones leave nothing":           {[]topo.Set{set(0), set(1), set(0, 1)}, []bool{true, true, true}},
		"a half each":                        {[]topo.Set{set(0, 1), set(0, 1), set(2, 3), set(2, 3), set(2, 3)}, []bool{false, false, true, true, true}},
		"srun --cpu-bind=cores, two threads": {[]topo.Set{set(0, 4), set(1, 5), set(2, 6), set(3, 7)}, []bool{false, false, false, false}},
		"srun --cpu-bind=threads":            {[]topo.Set{set(0), set(4), set(1), set(5)}, []bool{false, false, false, false}},
		"srun --cpu-bind=sockets":            {[]topo.Set{set(0, 1), set(2, 3), set(0, 1), set(2, 3)}, []bool{false, false, false, false}},
		"srun --cpu-bind=sockets, one full":  {[]topo.Set{set(0, 1), set(2, 3), set(0, 1), set(0, 1)}, []bool{true, false, true, true}},
		"srun --overcommit":                  {[]topo.Set{set(0), set(1), set(0), set(1)}, []bool{true, true, true, true}},
		"alone, not known":                   {[]topo.Set{""}, []bool{false}},
		"not known":                          {[]topo.Set{"", four}, []bool{true, false}},
	} {
		if got := crowded(c.sets); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestProxiesCrowded: a proxy needs a processor beside those of PEs, which the launcher may have
// kept for it.
func TestProxiesCrowded(t *testing.T) {
	set := func(cpus ...int) topo.Set { return topo.NewSet(cpus...) }
	four := set(0, 1, 2, 3)
	for name, c := range map[string]struct {
		sets    []topo.Set
		helpers topo.Set
		proxies int
		want    bool
	}{
		"a processor for each":           {[]topo.Set{four, four}, "", 1, false},
		"a PE more":                      {[]topo.Set{four, four, four}, "", 1, true},
		"a proxy more":                   {[]topo.Set{four, four}, "", 2, true},
		"bound, and processors for them": {[]topo.Set{set(0), set(1)}, set(2, 3), 1, false},
		"bound, and one for both":        {[]topo.Set{set(0), set(1)}, set(2), 1, true},
		"bound, by another launcher":     {[]topo.Set{set(0), set(1)}, "", 1, true},
		"not known":                      {[]topo.Set{four, ""}, "", 1, true},
		"no proxies":                     {[]topo.Set{set(0), set(1)}, "", 0, false},
	} {
		m := JobInfo{Sharing: len(c.sets), Proxies: c.proxies, processors: together(c.sets)}
		if got := m.ProxiesCrowded(c.helpers); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSrun starts processes with the processors that srun gives to its tasks, and counts those that
// may have to share one as a job does.
func TestSrun(t *testing.T) {
	if os.Getenv("SLURM_PROCID") != "" && os.Getenv("TASK_OF_TEST") != "" {
		fmt.Println(topo.Allowed())
		return
	}
	taskset := need.Command(t, "taskset")
	all := topo.Allowed().List()
	need.Processors(t, len(all), 2)
	first, second := fmt.Sprint(all[0]), fmt.Sprint(all[1])
	both := first + "," + second
	for _, c := range []struct {
		option string
		masks  []string
		want   bool
	}{
		{"--cpu-bind=cores", []string{first, second}, false},
		{"--cpu-bind=threads", []string{second, first}, false},
		{"--cpu-bind=none", []string{both, both}, false},
		{"--cpu-bind=none --overcommit", []string{both, both, both}, true},
		{"--cpu-bind=map_cpu:" + first, []string{first, first}, true},
	} {
		infos := make([]Info, len(c.masks))
		for i, mask := range c.masks {
			task := exec.Command(taskset, "-c", mask, os.Args[0], "-test.run=^TestSrun$")
			task.Env = append(os.Environ(), "TASK_OF_TEST=1", "SLURM_JOB_ID=1", "SLURM_STEP_ID=0",
				fmt.Sprint("SLURM_NTASKS=", len(c.masks)), fmt.Sprint("SLURM_PROCID=", i), fmt.Sprint("SLURM_LOCALID=", i))
			out, err := task.CombinedOutput()
			if err != nil {
				t.Fatalf("%s, task %d: %v\n%s", c.option, i, err, out)
			}
			line, _, _ := strings.Cut(string(out), "\n")
			cpus, err := topo.ParseSet(line)
			if err != nil {
				t.Fatalf("%s, task %d: %v", c.option, i, err)
			}
			infos[i] = Info{Host: "a", Machine: "a", CPUs: cpus}
		}
		for me := range infos {
			m, err := Meet(infos, libshmem.PE(me), config.StaticsAuto)
			if err != nil || m.Crowded != c.want || m.NodeCrowded != c.want {
				t.Errorf("%s, task %d: %v, %+v, want %v", c.option, me, err, m, c.want)
			}
		}
	}
}
