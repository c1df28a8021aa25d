package perf

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// fakeNVCC stands for nvcc: what it builds is the measuring program of the host. It notes its
// arguments, and the program those of shmem-perf and where the PEs of NVSHMEM meet.
const fakeNVCC = `#!/bin/sh
echo "nvcc $*" >>"$FAKE_LOG"
while [ "$1" != -o ]; do shift; done
cat >"$2" <<-END
	#!/bin/sh
	echo "${2##*/} \$1 \$(echo "\$*" | grep -o 'scopes=[a-z,]*') \$PERF_MEETING" >>"$FAKE_LOG"
	for word; do
		shift
		case \$word in scopes=*) ;; *) set -- "\$@" "\$word" ;; esac
	done
	exec "$FAKE_PROGRAM" "\$@"
END
chmod +x "$2"
`

// fakeCompiler puts fakeNVCC into PATH, and returns the file of its notes and the folder of what it
// builds.
func fakeCompiler(t *testing.T) (log, cache string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvcc"), []byte(fakeNVCC), 0o777); err != nil {
		t.Fatal(err)
	}
	log, cache = filepath.Join(dir, "log"), filepath.Join(dir, "cache")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("FAKE_LOG", log)
	t.Setenv("FAKE_PROGRAM", filepath.Join(need.Build(t), "libexec", "shmem", "perf"))
	return log, filepath.Join(cache, "libshmem")
}

// notes returns the lines of a file of notes that a pattern matches.
func notes(t *testing.T, log, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?m)^"+pattern+"$").FindAllString(string(text), -1)
}

// TestScope: the program for GPUs is built from its sources on the machine that measures, once, and
// measures the scopes of the command line.
func TestScope(t *testing.T) {
	log, cache := fakeCompiler(t)
	for range 2 {
		if out, errs, status := run(t, "shmem-perf", "-T", "1", "--batches", "1", "-s", "8", "--scope", "gpu", "put_latency"); status != 0 || !strings.Contains(out, "\n# put latency, us, until quiet\n") {
			t.Fatalf("status %d: %s\n%s", status, errs, out)
		}
	}
	if built := notes(t, log, `nvcc .*-I\S+/include .*/device\.cu .*/stream\.cu .*/gpu_collectives\.cu .*-lshmem.*`); len(built) != 1 {
		t.Errorf("built are %q", built)
	}
	if started := notes(t, log, `perf-\S+ tests=put:latency scopes=stream,thread,warp,block `); len(started) != 4 {
		t.Errorf("started are %q", started)
	}
	if files, err := filepath.Glob(filepath.Join(cache, "*")); err != nil || len(files) != 1 {
		t.Errorf("left are %q, %v", files, err)
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, there := exec.LookPath("nvcc")
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err != nil && there != nil {
		if _, errs, status := run(t, "shmem-perf", "--scope", "block", "put"); status != 1 || !strings.Contains(errs, "there is no nvcc (install CUDA's compiler, and put it into PATH)") {
			t.Errorf("without nvcc: status %d: %s", status, errs)
		}
	}
}

// fakeHome makes a folder with the files by which an NVSHMEM is known.
func fakeHome(t *testing.T, files ...string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "lib"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(home, "lib", name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestNVSHMEM: NVSHMEM is measured in turn with libshmem, by the same sources and scopes, and each
// start of its PEs has another file to meet by.
func TestNVSHMEM(t *testing.T) {
	log, _ := fakeCompiler(t)
	home := fakeHome(t, "libnvshmem_device.a", "libnvshmem_host.so.3", "nvshmem_bootstrap_uid.so.3")
	t.Setenv("NVSHMEM_HOME", home)
	out, errs, status := run(t, "shmem-perf", "-T", "1", "--batches", "1", "-s", "8", "--scope", "stream,block", "--beside=nvshmem", "--repeat", "2", "--json", "put_latency")
	var got []string
	for _, l := range parse(t, out) {
		if l.Kind == "figure" {
			got = append(got, l.System)
		}
	}
	if want := []string{"libshmem", "nvshmem", "libshmem", "nvshmem"}; status != 0 || !slices.Equal(got, want) {
		t.Errorf("status %d: %s\nmeasured are %q, want %q", status, errs, got, want)
	}
	lib := regexp.QuoteMeta(filepath.Join(home, "lib"))
	if built := notes(t, log, `nvcc .*-rdc=true -DPERF_NVSHMEM .*/nvshmem\.cu.* -L`+lib+` -lnvshmem_device -l:libnvshmem_host\.so\.3 .*-rpath=`+lib+` -Xlinker --disable-new-dtags`); len(built) != 1 {
		t.Errorf("built are %q", built)
	}
	started := notes(t, log, `perf-nvshmem-\S+ tests=put:latency scopes=stream,block \S+/[12]`)
	slices.Sort(started)
	if len(started) != 4 || len(slices.Compact(started)) != 2 {
		t.Errorf("started are %q", started)
	}
	// What is left out is named, and is no error.
	t.Setenv("NVSHMEM_HOME", fakeHome(t, "libnvshmem_device.a", "libnvshmem_host.so.3")) // as share/nvshmem of libshmem
	t.Setenv("PATH", filepath.Dir(log)+":/nothing:"+filepath.Join(need.Build(t), "bin")+":/usr/bin:/bin")
	t.Setenv("PYTHONPATH", t.TempDir())
	for _, c := range []struct{ scope, more, want string }{
		{"host", "", "its figures are those of GPUs (add --scope gpu)"},
		{"block", "--hosts=2", "it is measured on one machine only"},
		{"block", "", "neither NVSHMEM_HOME nor python3 leads to NVSHMEM"},
	} {
		args := []string{"shmem-perf", "-T", "1", "--batches", "1", "-s", "8", "--scope", c.scope, "--beside=nvshmem", "put_latency"}
		if c.more != "" {
			args = append(args, c.more)
		}
		_, errs, status := run(t, args...)
		if !strings.Contains(errs, "shmem-perf: measure nvshmem beside libshmem: "+c.want) || status != 0 {
			t.Errorf("%s %s: status %d: %s", c.scope, c.more, status, errs)
		}
	}
}

// TestNVCC: nvcc builds the program, which runs or says that there is no GPU. It builds the one for
// NVSHMEM, too, if its wheel is there.
func TestNVCC(t *testing.T) {
	if need.Left("scopes") {
		t.Skip("make test-full builds the program for GPUs")
	}
	t.Setenv("PATH", filepath.Dir(need.NVCC(t))+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if wheels, err := filepath.Glob(filepath.Join(need.Folder(t), "tools", "nvshmem-*")); err == nil && len(wheels) > 0 {
		t.Setenv("NVSHMEM_HOME", wheels[len(wheels)-1])
	}
	out, errs, status := run(t, "shmem-perf", "-T", "1", "--batches", "1", "-s", "8", "--scope", "gpu", "--beside=nvshmem", "put_latency", "barrier")
	if status == 0 && !strings.Contains(out, "\n# put latency by block, us, until quiet\n") || status != 0 && !strings.Contains(errs, "shmem-perf: count GPUs: ") || strings.Contains(errs, "build the program") {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
}
