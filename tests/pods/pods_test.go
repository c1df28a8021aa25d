package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"libshmem/tests/need"
)

const at = "PE 0 at shmem-0.shmem:7000"

func TestPods(t *testing.T) {
	c := newCluster(t, 40)
	late := time.Duration(need.Load("late pods")) * time.Second
	long := late > 10*time.Second // a PE says by then what it waits for
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}

	run("together", func(t *testing.T) {
		j := c.newJob(t, 4)
		var pods []*pod
		for index := range 4 {
			pods = append(pods, j.start(index))
		}
		j.works(pods...)
		if out := pods[0].out(); !strings.Contains(out, "4 PEs on 4 hosts, PE 0 on shmem-0; bootstrap session;") {
			t.Errorf("the banner of PE 0 is not that of a session of 4 pods:\n%s", out)
		}
	})

	run("late pod", func(t *testing.T) {
		j := c.newJob(t, 3)
		zero, one := j.start(0), j.start(1)
		j.connected(one)
		time.Sleep(late)
		if long {
			zero.says(at + " waits for PE 2 (find out why")
		}
		j.works(j.start(2), zero, one)
	})

	run("late PE 0", func(t *testing.T) {
		j := c.newJob(t, 2)
		one := j.start(1)
		j.asks(one)
		time.Sleep(late)
		if long {
			one.says("PE 1 waits for " + at + ": lookup shmem-0.shmem")
		}
		j.works(j.start(0), one)
	})

	// The pod runs, and the cluster publishes its name later. The Secret is mounted.
	run("late name", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o400); err != nil {
			t.Fatal(err)
		}
		j := c.newJob(t, 2, "SHMEM_BOOTSTRAP_SECRET=", "SHMEM_BOOTSTRAP_SECRET_FILE="+file)
		zero, one := j.startUnpublished(0), j.start(1)
		j.asks(one)
		j.names.publish(j.name(0), address(zero.host))
		j.works(zero, one)
	})

	for index := range 2 {
		run(fmt.Sprintf("pod %d replaced before all have come", index), func(t *testing.T) {
			j := c.newJob(t, 3)
			pods := []*pod{j.start(0), j.start(1)}
			j.connected(pods[1])
			pods[index].kill()
			pods[index] = j.start(index)
			j.works(append(pods, j.start(2))...)
		})
	}

	// The node is gone: no host answers at the old address.
	run("node of pod 0 lost before all have come", func(t *testing.T) {
		if need.Left("lost nodes") {
			t.Skip("for make test-full: silence has to be waited for")
		}
		j := c.newJob(t, 3)
		zero, one := j.start(0), j.start(1)
		j.connected(one)
		c.on(t, zero.host, func() error {
			l, err := netlink.LinkByName("eth0")
			if err == nil {
				err = netlink.LinkSetDown(l)
			}
			return err
		})
		zero.kill()
		j.works(one, j.start(0), j.start(2))
	})

	// The job ends as any other. When all its pods are started again, they meet again, whichever
	// comes first.
	run("pod lost in the job", func(t *testing.T) {
		j := c.newJob(t, 3)
		goOn := filepath.Join(t.TempDir(), "go on")
		j.args = []string{goOn}
		pods := []*pod{j.start(0), j.start(1), j.start(2)}
		for _, p := range pods {
			p.says("wrote to me")
		}
		pods[2].kill()
		again := j.start(2)
		said := ""
		for _, p := range pods[:2] {
			p.fails("shmem: PE ") // which has lost PE 2, or has ended the job
			said += p.out()
		}
		if !regexp.MustCompile(`PE 2 (has ended|cannot be reached)`).MatchString(said) {
			t.Errorf("no pod names PE 2:\n%s", said)
		}
		if err := os.WriteFile(goOn, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		j.works(j.start(1), j.start(0), again)
	})

	// The others go on without PE 2, and no other process gets its place.
	run("pod replaced in the job", func(t *testing.T) {
		j := c.newJob(t, 3, "SHMEM_ON_FAILURE=return")
		j.args = []string{filepath.Join(t.TempDir(), "never"), "outside"}
		pods := []*pod{j.start(0), j.start(1), j.start(2)}
		for _, p := range pods {
			p.says("wrote to me")
		}
		pods[2].kill()
		again := j.start(2, "SHMEM_BOOTSTRAP_TIMEOUT=6")
		lost := fmt.Sprintf("the job has begun, and its PE 2, at %v, is lost; no other process takes its place", address(pods[2].host))
		again.says("PE 2 waits for " + at + ": " + lost)
		again.fails("join job PE 2 of 3, on host shmem-2: it waited 6s for " + at + ": " + lost)
	})

	run("two pods with one index", func(t *testing.T) {
		j := c.newJob(t, 3)
		zero, one := j.start(0), j.start(1)
		j.connected(one)
		second := j.startUnpublished(1, "SHMEM_BOOTSTRAP_TIMEOUT=4")
		second.says(fmt.Sprintf("PE 1 waits for %s: there is already a PE 1, at %v (give each PE its own number)", at, address(one.host)))
		j.works(j.start(2), zero, one)
		second.fails("join job PE 1 of 3, on host shmem-1: it waited 4s for " + at)
	})

	run("wrong secret", func(t *testing.T) {
		j := c.newJob(t, 2, "SHMEM_BOOTSTRAP_TIMEOUT=4")
		zero, one := j.start(0), j.start(1, "SHMEM_BOOTSTRAP_SECRET="+secret+"0")
		one.fails("it knows another secret (give all PEs the same SHMEM_BOOTSTRAP_SESSION and the same SHMEM_BOOTSTRAP_SECRET)")
		zero.fails("PE 1 did not come within 4s")
		if text := zero.out() + one.out(); strings.Contains(text, secret) {
			t.Errorf("a pod prints the secret:\n%s", text)
		}
	})

	run("secret of the example", func(t *testing.T) {
		c.newJob(t, 1).start(0, "SHMEM_BOOTSTRAP_SECRET=change-me").fails("SHMEM_BOOTSTRAP_SECRET has 9 characters, at least 16 are needed")
	})
}

// TestPage: the pages show the manifests as they are; the pods here have the settings of the job's.
func TestPage(t *testing.T) {
	for file, page := range map[string]string{"job.yaml": "docs/guides/kubernetes.md", "pod.yaml": "docs/start/recipes.md"} {
		manifest, err := os.ReadFile("../../examples/kubernetes/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```yaml\n"+string(manifest)+"```\n") {
			t.Errorf("%s does not have examples/kubernetes/%s as it is (copy the file into the page)", page, file)
		}
	}
}
