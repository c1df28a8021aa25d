package redirect

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// programs print the same with each library.
var programs = []string{"rma", "atomics", "contexts", "sets", "waits", "info"}

// openMPI compiles a program of testdata with Open MPI's compiler command.
func openMPI(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-std=gnu11", "-w", "-g", "-O1", filepath.Join("testdata", source), "-o", program}, flags...)
	if out, err := exec.Command(need.Command(t, "oshcc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("oshcc %v: %v\n%s", args, err, out)
	}
	return program
}

// environment returns the environment of Open MPI's launcher: as root, on few processors.
func environment(more ...string) []string {
	return append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
		"OMPI_MCA_osc=^rdma"), // with it shmem_finalize of Open MPI 4.1 crashes in any program
		more...)
}

// run returns the lines of the program, sorted, and what it wrote on standard error.
func run(env []string, argv ...string) (lines []string, errs string, err error) {
	cmd := exec.Command("timeout", append([]string{"90"}, argv...)...)
	cmd.Env = env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "PE ") { // UCX writes there, too
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(lines)
	return lines, said.String(), err
}

func redirected(t *testing.T) []string {
	t.Helper()
	return []string{"LD_PRELOAD=" + filepath.Join(need.Build(t), "lib", "libshmem_preload.so"), "SHMEM_PRELOAD=redirect"}
}

// TestSame: a program that was built for Open MPI prints under libshmem what it prints under Open
// MPI: on one node, between hosts, and started by Open MPI's own launcher.
func TestSame(t *testing.T) {
	build := need.Build(t)
	need.Command(t, "oshrun")
	shmemrun := []string{filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "--redirect", "-n", "3"}
	preload := []string{"mpirun", "-n", "3"}
	for _, v := range redirected(t) {
		preload = append(preload, "-x", v)
	}
	ways := []struct {
		name     string
		launcher []string
		says     string // a regular expression for the line of SHMEM_DEBUG, which Open MPI does not have
	}{
		{"node", shmemrun, "bootstrap launcher"},
		{"hosts", append(slices.Clone(shmemrun), "--hosts", "2,1"), "bootstrap launcher"},
		{"mpirun", preload, "bootstrap pmix"},
	}
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			program := openMPI(t, name+".c")
			want, errs, err := run(environment(), "oshrun", "-n", "3", program)
			if err != nil || len(want) < 5 {
				t.Fatalf("with Open MPI: %v, %d lines\n%s", err, len(want), errs)
			}
			for _, w := range ways {
				got, errs, err := run(environment("SHMEM_DEBUG=1"), append(slices.Clone(w.launcher), program)...)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %v\nprints\n%s\nwith Open MPI\n%s\nstandard error:\n%s", w.name, err,
						strings.Join(got, "\n"), strings.Join(want, "\n"), errs)
				}
				if !strings.Contains(errs, w.says) {
					t.Errorf("%s: nothing says %q, so that another library may have run:\n%s", w.name, w.says, errs)
				}
				if strings.Contains(errs, "no such setting") {
					t.Errorf("%s: a setting of the shim is called unknown:\n%s", w.name, errs)
				}
			}
		})
	}
}

// TestNewer: Open MPI 5 declares teams, contexts of teams and puts with signals, so that programs
// use them. In 5.0.7 its teams answer -7, and a wait for its signals does not end; libshmem's results
// are compared with the expected ones. scripts/test full runs the package in Debian 13, which has
// it.
func TestNewer(t *testing.T) {
	build := need.Build(t)
	if _, version := header(t); version != "5" {
		t.Skip("this machine has Open MPI " + version + "; scripts/debian has 5")
	}
	for name, want := range map[string][]string{
		"signals": {
			"PE 0: data 2 5 2 2 2, signals 7 8", "PE 1: data 0 3 0 0 0, signals 7 8", "PE 2: data 1 4 1 1 1, signals 7 8",
		},
		"teams": {
			"PE 0: broadcast 204", "PE 0: context of the team: 0, 72", "PE 0: even: 0 of 2, in the world 0", "PE 0: fcollect 0 201",
			"PE 0: handles: world 1 shared 1, alike 0", "PE 0: hints 1", "PE 0: nobody: -1", "PE 0: or 0x5", "PE 0: split: 1, member 1",
			"PE 0: sum 200", "PE 0: world: 0 of 3, in the world 0",
			"PE 1: handles: world 1 shared 1, alike 0", "PE 1: hints 1", "PE 1: nobody: -1", "PE 1: split: 1, member 0",
			"PE 1: world: 1 of 3, in the world 0",
			"PE 2: broadcast 204", "PE 2: context of the team: 0, 70", "PE 2: even: 1 of 2, in the world 0", "PE 2: fcollect 0 201",
			"PE 2: handles: world 1 shared 1, alike 0", "PE 2: hints 1", "PE 2: nobody: -1", "PE 2: or 0x5", "PE 2: split: 1, member 1",
			"PE 2: sum 200", "PE 2: world: 2 of 3, in the world 0",
		},
	} {
		program := openMPI(t, name+".c")
		got, errs, err := run(environment(), filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "--redirect", "-n", "3", program)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"), errs)
		}
	}
}

// TestAsleep: the other library is loaded, because the program needs it, and is not initialised.
func TestAsleep(t *testing.T) {
	build := need.Build(t)
	program := openMPI(t, "asleep.c")
	want := []string{"PE 0: OSHMEM 0 MPI 0", "PE 1: OSHMEM 0 MPI 0"}
	got, errs, err := run(environment(), filepath.Join(build, "bin", "shmemrun"), "--redirect", "-n", "2", program)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q, want %q\n%s", err, got, want, errs)
	}
	if without, errs, err := run(environment(), "oshrun", "-n", "2", program); err != nil || slices.Equal(without, want) {
		t.Errorf("Open MPI itself: %v, %q\n%s", err, without, errs)
	}
}

// TestOurs: a program that was linked with libshmem runs as without the mode.
func TestOurs(t *testing.T) {
	build := need.Build(t)
	program := filepath.Join(t.TempDir(), "ours")
	gcc(t, "-std=gnu11", "-g", "-I../../include", "../experiments/testdata/fence.c", "-o", program, "-L"+filepath.Join(build, "lib"), "-lshmem")
	want := []string{"PE 0: right", "PE 1: right"}
	got, errs, err := run(environment(), filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "--redirect", "-n", "2", program)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q, want %q\n%s", err, got, want, errs)
	}
}

// TestHeap: the variable of Open MPI sets the size of the heap, and what the shim needs comes on
// top.
func TestHeap(t *testing.T) {
	build := need.Build(t)
	program := openMPI(t, "heap.c")
	for _, c := range []struct{ set, want string }{
		{"SHMEM_SYMMETRIC_HEAP_SIZE=4M", "PE 0: 3 MiB: 1, 64 MiB: 0"},
		{"SHMEM_SYMMETRIC_SIZE=4m", "PE 0: 3 MiB: 1, 64 MiB: 0"},
		{"SMA_SYMMETRIC_SIZE=4194304", "PE 0: 3 MiB: 1, 64 MiB: 0"},
		{"SHMEM_SYMMETRIC_SIZE=0.1g", "PE 0: 3 MiB: 1, 64 MiB: 1"},
		{"NONE=", "PE 0: 3 MiB: 1, 64 MiB: 1"},
	} {
		got, errs, err := run(environment(c.set), filepath.Join(build, "bin", "shmemrun"), "--redirect", "-n", "1", program)
		if err != nil || !slices.Equal(got, []string{c.want}) || strings.Contains(errs, "setting") {
			t.Errorf("%s: %v, %q, want %q\n%s", c.set, err, got, c.want, errs)
		}
	}
}

// TestRefused: what cannot be translated ends the program with the call, the PE, the cause and the
// remedy.
func TestRefused(t *testing.T) {
	build := need.Build(t)
	bad := openMPI(t, "bad.c")
	dir := t.TempDir()
	stranger := filepath.Join(dir, "libsma.so.1")
	strange := filepath.Join(dir, "strange")
	gcc(t, "-shared", "-fPIC", "testdata/stranger.c", "-o", stranger, "-Wl,-soname,libsma.so.1")
	gcc(t, "-x", "c", "-", "-x", "none", "-o", strange, stranger, "-Wl,-rpath,"+dir)
	hidden := filepath.Join(dir, "libhidden.so")
	gcc(t, "-shared", "-fPIC", "testdata/hidden.c", "-o", hidden)
	// Before LD_LIBRARY_PATH, which shmemrun sets.
	other, same := filepath.Join(dir, "libshmem.so"), filepath.Join(dir, "same")
	gcc(t, "-shared", "-fPIC", "testdata/stranger.c", "-o", other, "-Wl,-soname,libshmem.so")
	gcc(t, "-x", "c", "-", "-x", "none", "-o", same, other, "-Wl,--disable-new-dtags,-rpath,"+dir)
	for _, c := range []struct {
		name string
		argv []string
		mode string
		says string
	}{
		{"handle", []string{bad, "handle"}, "redirect", `libshmem_preload: redirect: shmem_ctx_long_p \(PE [01]\): 0x[0-9a-f]+ is no context that the program has got .* \(pass one of those\)`},
		{"option", []string{bad, "option"}, "redirect", `redirect: shmem_ctx_create \(PE [01]\): 0x21 has options that the header of Open MPI [45] does not have \(leave out 0x20\)`},
		{"sets", []string{bad, "sets"}, "redirect", `redirect: shmem_barrier \(PE 0\): the job uses more than 512 pairs of an array pSync and an active set \(use the same arrays again, or .*\)`},
		{"extension", []string{openMPI(t, "unknown.c", "-DEXTENSION")}, "redirect", `redirect: shmem_init \(PE [01]\): the program takes shmemx_alltoall_global_nb from .*liboshmem.*, and libshmem has no such names \(compile the program .*\)`},
		{"oldest", []string{openMPI(t, "unknown.c", "-DOLDEST")}, "redirect", `redirect: shmem_init \(PE [01]\): the program takes num_pes from `},
		{"profiling", []string{openMPI(t, "unknown.c", "-DPROFILING")}, "redirect", `redirect: shmem_init \(PE [01]\): the program takes pshmem_barrier_all from `},
		{"library without exports", []string{openMPI(t, "bad.c", "-Wl,--no-as-needed", hidden)}, "redirect", `redirect: shmem_init \(PE [01]\): the program takes pshmem_barrier_all from `},
		{"variable", []string{openMPI(t, "unknown.c")}, "redirect", `redirect: shmem_init \(PE [01]\): the program takes mca_spml from `},
		{"stranger", []string{strange}, "redirect", `redirect: shmem_init \(PE [01]\): .*libsma\.so\.1 is no library whose handles and constants are known \(.*compile the program with libshmem's oshcc\)`},
		{"stranger of the same name", []string{same}, "redirect", `redirect: shmem_init \(PE [01]\): .*libshmem\.so is no library whose handles and constants are known`},
		{"library", []string{bad}, "redirect,library=/nowhere/libshmem.so", `redirect: shmem_init \(PE [01]\): open /nowhere/libshmem\.so: .* \(name libshmem\.so with redirect,library=PATH\)`},
		{"no libshmem", []string{bad}, "redirect,library=" + stranger, `redirect: shmem_init \(PE [01]\): .*libsma\.so\.1 is not libshmem \(name another file`},
		{"word", []string{bad}, "redirect,lib=x", `SHMEM_PRELOAD: "redirect.*": its only option is library=PATH \(write redirect\[,library=PATH\]\)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pes := "2"
			if c.name == "sets" {
				pes = "3"
			}
			argv := append([]string{filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "--redirect", "-n", pes}, c.argv...)
			out, errs, err := run(environment("SHMEM_PRELOAD="+c.mode), argv...)
			if err == nil || !regexp.MustCompile(c.says).MatchString(errs) {
				t.Errorf("%v, nothing says %s\n%s", err, c.says, errs)
			}
			if len(strings.Join(out, "")) != 0 {
				t.Errorf("the program ran on: %q", out)
			}
		})
	}
}

// TestNvshmem: a host program that was linked with another libnvshmem_host.so.3 runs on the one
// beside the shim, and one with NVIDIA's device code is refused before anything is initialised.
func TestNvshmem(t *testing.T) {
	build := need.Build(t)
	dir := t.TempDir()
	gcc(t, "-shared", "-fPIC", "-w", "testdata/nvidia.c", "-o", filepath.Join(dir, "libnvshmem_host.so.3"), "-Wl,-soname,libnvshmem_host.so.3")
	host := filepath.Join(dir, "host")
	link := []string{"-std=gnu11", "-g", "-I../../include/nvshmem", "testdata/nvshmem.c", filepath.Join(dir, "libnvshmem_host.so.3"),
		// Before LD_LIBRARY_PATH, which shmemrun sets.
		"-Wl,--disable-new-dtags,-rpath," + dir}
	gcc(t, append(link, "-o", host)...)
	shmemrun := []string{filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "--redirect", "-n", "2"}
	want := []string{"PE 0: 2 PEs, 101, team 2", "PE 1: 2 PEs, 100, team 2"}
	if got, errs, err := run(environment(), append(shmemrun, host)...); err != nil || !slices.Equal(got, want) || errs != "" {
		t.Errorf("%v, %q, want %q\n%s", err, got, want, errs)
	}
	for i, call := range []string{"nvshmemid_init_status", "nvshmemid_hostlib_init_attr"} {
		device := filepath.Join(dir, call)
		gcc(t, append(link, "-o", device, fmt.Sprintf("-DDEVICE=%d", i))...)
		got, errs, err := run(environment(), append(shmemrun, device)...)
		says := `redirect: ` + call + ` \(PE [01]\): the program has device code of NVIDIA's libnvshmem_device\.a linked in, .* \(compile its kernels `
		if err == nil || len(got) > 0 || !regexp.MustCompile(says).MatchString(errs) {
			t.Errorf("device code: %v, %q, nothing says %s\n%s", err, got, says, errs)
		}
	}
}

func gcc(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("gcc", args...)
	cmd.Stdin = strings.NewReader("void shmem_init(void); void shmem_finalize(void);\nint main(void) { shmem_init(); shmem_finalize(); }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, out)
	}
}
