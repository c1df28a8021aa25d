package ordinary

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

// cage makes a plain container: with the mounts in place, no process has any capability or can get
// one.
const cage = `set -e
mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs -- "$@"`

// run starts argv in the cage.
func run(t *testing.T, env []string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--ipc", "--", "sh", "-c", cage, "cage"}, argv...)...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// installed returns the files that the programs need, in a folder that all users may read.
func installed(t *testing.T, programs ...string) string {
	t.Helper()
	need.Root(t)
	build := need.Build(t)
	dir, err := os.MkdirTemp("/var/tmp", "ordinary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	files := []string{"bin/shmemrun", "bin/shmem-doctor", "bin/shmem-info", "lib/libshmem.so", "lib/libshmem_core.so"}
	for _, p := range programs {
		files = append(files, "tests/"+p)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(build, f))
		to := filepath.Join(dir, f)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCage: the cage removes the capabilities that it names.
func TestCage(t *testing.T) {
	need.Root(t)
	out, err := run(t, nil, "sh", "-c", "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; df -k --output=size /dev/shm | tail -1; dd if=/proc/1/mem of=/dev/null count=1 2>&1 | head -1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"65534\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", " 65536\n", "Permission denied\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestPrograms: all of it works there, on one host and between two, with a heap many times as large
// as /dev/shm.
func TestPrograms(t *testing.T) {
	names := []string{"lifecycle", "memory", "zz_rma", "sync", "teams", "contexts", "statics", "rings", "locks"}
	dir := installed(t, names...)
	for _, hosts := range []string{"1", "2"} {
		for _, name := range names {
			t.Run(name+" on "+hosts, func(t *testing.T) {
				out, err := run(t, []string{"SHMEM_SYMMETRIC_SIZE=512m"}, dir+"/bin/shmemrun", "-n", "3", "--hosts", hosts, "--timeout", "100", dir+"/tests/"+name)
				if err != nil || !strings.Contains(out, " passed, 0 failed") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestBanner: the recipe for one host shows the output of PE 0.
func TestBanner(t *testing.T) {
	dir := installed(t, "sync")
	recipes, err := os.ReadFile("../../docs/start/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	banner := regexp.MustCompile(`(?m)^    (shmem: libshmem .*; bootstrap launcher; .*)$`).FindSubmatch(recipes)
	host, err := os.Hostname()
	if banner == nil || err != nil {
		t.Fatalf("docs/start/recipes.md has no banner, or: %v", err)
	}
	want := strings.Replace(string(banner[1]), "PE 0 on n1;", "PE 0 on "+host+";", 1)
	out, err := run(t, []string{"SHMEM_LOG_LEVEL=info"}, dir+"/bin/shmemrun", "-n", "4", dir+"/tests/sync")
	if err != nil || !strings.Contains(out, want+"\n") {
		t.Errorf("%v, no %q in\n%s", err, want, out)
	}
}

// TestTools: the commands list what is there, and the doctor finds no fault except those of the
// machine.
func TestTools(t *testing.T) {
	dir := installed(t)
	path := "PATH=" + dir + "/bin:/usr/bin:/bin"
	for _, argv := range [][]string{{"shmem-info"}, {"shmem-info", "--fabric"}, {"shmem-info", "--topology"}} {
		if out, err := run(t, []string{path}, append([]string{dir + "/bin/" + argv[0]}, argv[1:]...)...); err != nil {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
	out, _ := run(t, []string{path}, dir+"/bin/shmemrun", "-n", "2", "--hosts", "2", dir+"/bin/shmem-doctor")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "no  ") && !strings.HasPrefix(line, "no  processors: ") && !strings.HasPrefix(line, "no  throttling: ") {
			t.Error(line)
		}
	}
	for _, want := range []string{"/dev/shm is not used\n", "ok  between hosts: "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
