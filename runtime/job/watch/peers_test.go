package watch

import (
	"os/exec"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/bootstrap/bootstraptest"
	"libshmem/runtime/config"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/topo"
)

// knower is a launcher that knows how PEs have ended, and notes the PEs that it is asked for.
type knower struct {
	*bootstraptest.LossReporter
	inquired []libshmem.PE
	outcomes map[libshmem.PE]string
}

func (k *knower) Inquire(pes []libshmem.PE)     { k.inquired = pes }
func (k *knower) Outcome(pe libshmem.PE) string { return k.outcomes[pe] }
func (k *knower) Absent(pe libshmem.PE) bool    { return k.outcomes[pe] != "" }

// TestLate: the text on late PEs comes from the best source: the launcher, then the PE itself, and
// without either the end of its process.
func TestLate(t *testing.T) {
	w, b := watchOfFour(t, config.AbortOnFailure)
	k := &knower{LossReporter: b, outcomes: map[libshmem.PE]string{}}
	w.Boot = k
	w.Nodes = topo.NewNodes([]string{"a", "a", "a", "b"})
	does := map[area.How]string{}
	w.Activity = func(pe libshmem.PE, how area.How) string {
		if pe == 3 {
			t.Error("the control page of a PE of another node was asked for")
		}
		return does[how]
	}
	late := func(want string, pes ...libshmem.PE) {
		t.Helper()
		if got := w.Late(pes, len(pes)+2); got != want+"and 2 more PEs have not come" {
			t.Errorf("late is %q, want %q", got, want)
		}
	}
	late("", 1)
	does[0], does[area.Deep] = "is in shmem_quiet for 1.0 s", "is in shmem_quiet for 1.0 s (for PE 10)"
	late("PE 1 is in shmem_quiet for 1.0 s (for PE 10); PE 2 is in shmem_quiet for 1.0 s (for PE 10); ", 1, 2)
	// It waits for this PE, so other PEs already show what its deep text has.
	does[area.Deep] = "is in shmem_quiet for 1.0 s (for PE 10; PE 0 is here)"
	late("PE 1 is in shmem_quiet for 1.0 s; ", 1)

	// A PE of another node: the text that it has sent.
	late("", 3)
	w.StoreActivity(3, "is in shmem_init"+separator+"is in shmem_init, deep")
	late("PE 3 is in shmem_init, deep; ", 3)
	if got := w.Explanation([]libshmem.PE{3}, 1); got != "PE 3 is in shmem_init, deep" {
		t.Errorf("PE 3 is explained by %q", got)
	}
	k.outcomes[3] = "called shmem_finalize" // its process is out of sight
	late("PE 3 called shmem_finalize; ", 3)

	// A process that is gone.
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	w.Processes[2] = meet.ProcessOf(child.Process.Pid)
	late("PE 2 is in shmem_quiet for 1.0 s; ", 2)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got := w.Late([]libshmem.PE{2}, 1); !strings.HasSuffix(got, "is gone, and its status is not known)") {
		t.Errorf("PE 2: %q", got)
	}
	// No wait is for it in particular, but its state is remarkable.
	if got := w.Explanation(nil, 0); !strings.HasPrefix(got, "PE 2 has ended (its process, ") {
		t.Errorf("all are explained by %q", got)
	}
	does[area.Gone] = "ended with status 0, 1.0 s ago, without shmem_finalize"
	late("PE 2 "+does[area.Gone]+"; ", 2)
	if w.Probe([]libshmem.PE{1}); len(k.inquired) != 2 || k.inquired[0] != 1 || k.inquired[1] != 2 {
		t.Errorf("the launcher was asked for %v, not for PE 1, which is late, and PE 2, which is gone", k.inquired)
	}
	k.outcomes[2] = "exited with status 0 without shmem_finalize"
	late("PE 2 "+k.outcomes[2]+"; ", 2)
}

// silentNetwork is a network on which some PEs do not answer.
type silentNetwork struct {
	Network
	silent map[libshmem.PE]bool
}

func (n *silentNetwork) PeerStatus(pe libshmem.PE, _ bool) (text string, silent, had bool) {
	return "is at eth0", n.silent[pe], true
}

// TestSilent: an explanation ends with what to do about PEs that the network does not reach, unless
// something else is known to be the reason.
func TestSilent(t *testing.T) {
	w, b := watchOfFour(t, config.AbortOnFailure)
	k := &knower{LossReporter: b, outcomes: map[libshmem.PE]string{}}
	w.Boot = k
	w.Nodes = topo.NewNodes([]string{"a", "a", "b", "c"})
	n := &silentNetwork{silent: map[libshmem.PE]bool{}}
	w.Network = n
	explains := func(want string) {
		t.Helper()
		if got := w.Explanation(nil, 0); got != want {
			t.Errorf("the explanation is %q, want %q", got, want)
		}
	}
	explains("PE 2 is at eth0; PE 3 is at eth0")
	n.silent[3] = true
	explains("PE 2 is at eth0; PE 3 is at eth0; run shmem-doctor on both hosts")
	n.silent[2] = true
	explains("PE 2 is at eth0; PE 3 is at eth0; run shmem-doctor on these hosts")
	k.outcomes[2] = "exited with status 0 without shmem_finalize"
	explains("PE 2 is at eth0; PE 3 is at eth0; run shmem-doctor on both hosts")
}

func TestNames(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "PE 1": true, "for PE 10": false, "for PE 12, then PE 1": true, "PE 1 and PE 12": true, "not there yet: PE 21 PE 13": false,
	} {
		if got := names(text, 1); got != want {
			t.Errorf("%q names PE 1: %t", text, got)
		}
	}
}
