package install

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

var whole = flag.Bool("whole", false, "make a release, build it again, and run it on old systems, which takes a quarter of an hour")

// released are the files of a release, of a version.
var released = []string{
	"SHA256SUMS",
	"libshmem-%s-py3-none-manylinux_2_28_aarch64.whl",
	"libshmem-%s-py3-none-manylinux_2_28_x86_64.whl",
	"libshmem-%s.cdx.json",
	"libshmem-%s.tar.gz",
	"libshmem-dev_%s-1_amd64.deb",
	"libshmem0_%s-1_amd64.deb",
	"shmem-tools_%s-1_amd64.deb",
}

// A release is one of make release, with folders to use it in.
type release struct {
	dir, version string
	wheels       map[string]string // the unpacked package, by machine
}

// TestRelease makes a release, makes it again from its own archive, and runs it on systems that are
// older than this one. scripts/roots makes those.
func TestRelease(t *testing.T) {
	if !*whole {
		t.Skip("make test-full runs it (-whole)")
	}
	need.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	r := release{version: strings.TrimSpace(string(text)), wheels: map[string]string{}}
	dist := t.TempDir()
	r.dir = filepath.Join(dist, "libshmem-"+r.version)
	long(t, root, nil, "make", "--no-print-directory", "-s", "release", "CHANGED=yes", "DIST="+dist, "SOURCE_DATE_EPOCH=1700000000")
	var want []string
	for _, name := range released {
		want = append(want, strings.Replace(name, "%s", r.version, 1))
	}
	if got := files(t, r.dir); !slices.Equal(got, want) {
		t.Fatalf("a release has\n%v\nwant\n%v", got, want)
	}
	command(t, r.dir, bare, "sha256sum", "--quiet", "-c", "SHA256SUMS")
	for _, machine := range []string{"x86_64", "aarch64"} {
		r.wheels[machine] = filepath.Join(t.TempDir(), machine)
		command(t, "", bare, "python3", "-m", "zipfile", "-e", r.wheel(machine), r.wheels[machine])
		command(t, "", bare, "sh", "-c", `chmod +x "$0"/shmem/bin/* "$0"/shmem/libexec/shmem/*`, r.wheels[machine])
	}
	t.Run("again", r.again)
	t.Run("offline", r.offline)
	t.Run("here", r.here)
	t.Run("Debian 11", r.old)
	t.Run("packages", r.packages)
	t.Run("aarch64", r.emulated)
}

func (r *release) wheel(machine string) string {
	return filepath.Join(r.dir, fmt.Sprintf("libshmem-%s-py3-none-manylinux_2_28_%s.whl", r.version, machine))
}

// long runs a command that may take minutes, with the environment of this process and more.
func long(t *testing.T, dir string, more []string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKEFLAGS=") || strings.HasPrefix(v, "MAKELEVEL=") || strings.HasPrefix(v, "MFLAGS=")
	})
	cmd.Env = append(cmd.Env, more...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	t.Logf("%s: %.0f s", argv[0], time.Since(began).Seconds())
	return string(out)
}

// unpack unpacks the source archive, with the tools and kernels of this tree.
func (r *release) unpack(t *testing.T) string {
	dir := t.TempDir()
	command(t, dir, bare, "tar", "xf", filepath.Join(r.dir, "libshmem-"+r.version+".tar.gz"), "--strip-components=1")
	built, err := filepath.Abs(need.Build(t))
	if err != nil {
		t.Fatal(err)
	}
	command(t, dir, bare, "sh", "-c", `mkdir -p build/lib build/obj && ln -s "$0/tools" build/ && cp -p "$0"/obj/archs* build/obj/ && cp "$0/lib/libshmem_kernels.fatbin" build/lib/`, built)
	return dir
}

// again: the archive makes the same wheel in another folder. The modules are those of the cache, as
// for a clone: with those of the archive Go would leave their sums out of the programs.
func (r *release) again(t *testing.T) {
	dir := r.unpack(t)
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		t.Fatal(err)
	}
	long(t, dir, []string{"BUILD=build", "SOURCE_DATE_EPOCH=1700000000"}, "make", "--no-print-directory", "-s", "wheel", "GLIBC=2.28", "DIST=dist")
	command(t, dir, bare, "cmp", "dist/"+filepath.Base(r.wheel("x86_64")), r.wheel("x86_64"))
}

// offline: the archive builds without a network and without a cache of modules.
func (r *release) offline(t *testing.T) {
	dir := r.unpack(t)
	long(t, dir, []string{"BUILD=build", "GOPROXY=off", "GOFLAGS=-mod=vendor", "GOMODCACHE=" + t.TempDir()},
		"unshare", "--net", "make", "--no-print-directory", "-s", "build", "KERNELS=no")
	command(t, dir, bare, "build/bin/shmem-info", "--version")
}

// first returns the program of a page in a language, in a file.
func first(t *testing.T, language, file string) string {
	text, err := os.ReadFile(filepath.Join(root, "docs/start/first-programs.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)\n```\n").FindSubmatch(text)
	if m == nil {
		t.Fatalf("the page has no program in %s", language)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, append(m[1], '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// wrote checks that each PE has got a put.
func wrote(t *testing.T, out string, pes int) {
	t.Helper()
	for me := range pes {
		if want := fmt.Sprintf("PE %d of %d: PE %d wrote to me", me, pes, (me+pes-1)%pes); !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// here: pip installs the wheel and numpy, and nothing else.
func (r *release) here(t *testing.T) {
	env := filepath.Join(t.TempDir(), "env")
	command(t, "", bare, "python3", "-m", "venv", "--without-pip", env)
	out := command(t, "", bare, "python3", "-m", "pip", "--python", env+"/bin/python", "install", "--disable-pip-version-check",
		"--no-index", "--find-links", filepath.Join(need.Numpy(t), "..", "wheels"), r.wheel("x86_64"))
	if !regexp.MustCompile(`Successfully installed libshmem-\S+ numpy-\S+\n`).MatchString(out) {
		t.Errorf("pip installs\n%s", out)
	}
	wrote(t, command(t, "", bare, env+"/bin/shmemrun", "-n", "3", env+"/bin/python", first(t, "python", "hello.py")), 3)
}

// changed enters a system whose changes are dropped, and runs a line there with folders of this one.
const changed = `
root=$1 line=$2; shift 2
mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mount -t proc proc /mnt/root/proc
mount --rbind /dev /mnt/root/dev
for d; do mkdir -p "/mnt/root$d"; mount --bind "$d" "/mnt/root$d"; done
exec chroot /mnt/root sh -euc "$line" "$@"`

// in runs a line of the shell in a root, where the folders are $0 and so on.
func in(t *testing.T, root, line string, folders ...string) string {
	t.Helper()
	argv := append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-euc", changed, "in", root, line}, folders...)
	return command(t, "", []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root"}, argv...)
}

// old: the package on the oldest system that Debian's mirrors have, with its compiler and a Python
// that was built there.
func (r *release) old(t *testing.T) {
	system := need.System(t, "old")
	if out := in(t, system, "ldd --version | head -n 1"); !strings.Contains(out, " 2.31") {
		t.Fatalf("Debian 11 has %s", out)
	}
	hello := first(t, "c", "hello.c")
	wrote(t, in(t, system, `gcc -I"$0/shmem/include" "$1/hello.c" -L"$0/shmem/lib" -lshmem -o /tmp/hello
"$0/shmem/bin/shmemrun" -n 3 /tmp/hello`, r.wheels["x86_64"], filepath.Dir(hello)), 3)
	numpy := filepath.Join(need.Numpy(t), "..", "wheels")
	wrote(t, in(t, system, `cd /tmp && python3.11 -m zipfile -e "$2"/numpy-*.whl numpy
PYTHONPATH="/tmp/numpy:$0" "$0/shmem/bin/shmemrun" -n 3 python3.11 "$1/hello.py"`, r.wheels["x86_64"], filepath.Dir(first(t, "python", "hello.py")), numpy), 3)
}

// packages: those of Debian, beside Open MPI's.
func (r *release) packages(t *testing.T) {
	scripts, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := filepath.Abs(filepath.Join(root, "examples", "ring"))
	if err != nil {
		t.Fatal(err)
	}
	out := in(t, need.System(t, "old"), `sh "$0/debs.sh" "$1" "$2/ring.c"`, scripts, r.dir, ring)
	want := `installed: /usr/lib/shmem-tools/bin/oshcc /usr/lib/shmem-tools/bin/shmemrun
ours: PE 0 of 2: PE 1 wrote to me
` + r.version + `
chosen: oshcc, /usr/bin/opal_wrapper
still: PE 0 of 2: PE 1 wrote to me
again: /usr/lib/shmem-tools/bin/oshcc /usr/lib/shmem-tools/bin/shmemrun
removed: as before
openmpi-bin: whole
left: 0 diversions, 0 alternatives, 0 files
`
	if out != want {
		t.Errorf("it prints\n%s\nwant\n%s", out, want)
	}
}

// emulated: the package for aarch64, whose programs an emulator runs. It has no call by which shmemrun
// reaps children, so the launcher is that of this machine. Emulated PEs show nothing of weak memory
// orders: they run on a processor of x86-64.
func (r *release) emulated(t *testing.T) {
	emulator := need.Command(t, "qemu-aarch64-static")
	system := need.System(t, "arm")
	dir := r.wheels["aarch64"]
	launcher := filepath.Join(t.TempDir(), "bin", "shmemrun")
	command(t, "", bare, "install", "-D", filepath.Join(r.wheels["x86_64"], "shmem/bin/shmemrun"), launcher)
	if err := os.Symlink(filepath.Join(dir, "shmem", "lib"), filepath.Join(launcher, "../../lib")); err != nil {
		t.Fatal(err)
	}
	if out := command(t, "", bare, emulator, "-L", system, dir+"/shmem/bin/shmem-info"); !strings.Contains(out, "linux/arm64") {
		t.Errorf("shmem-info prints\n%s", out)
	}
	hello := filepath.Join(t.TempDir(), "hello")
	command(t, root, bare, "packaging/cc", need.Zig(t), "aarch64-linux-gnu.2.28", "-I"+dir+"/shmem/include", first(t, "c", "hello.c"),
		"-L"+dir+"/shmem/lib", "-lshmem", "-o", hello)
	wrote(t, command(t, "", bare, launcher, "-n", "3", emulator, "-L", system, hello), 3)

	numpy := t.TempDir()
	command(t, "", bare, "sh", "-c", `python3 -m zipfile -e "$0"/wheels/numpy-*.whl "$1"`, system, numpy)
	out := command(t, "", append([]string{"PYTHONPATH=" + numpy + ":" + dir, "PYTHONHOME=" + system + "/usr"}, bare...),
		launcher, "-n", "2", emulator, "-L", system, system+"/usr/bin/python3.11", first(t, "python", "hello.py"))
	wrote(t, out, 2)
}
