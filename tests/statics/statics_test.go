package statics

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// compile builds a program of testdata; the last words come after the library.
func compile(t *testing.T, build, source, flags string, last ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := append(strings.Fields(flags), "-O1", "-g", "-L"+filepath.Join(build, "lib"))
	cc.Source(t, program, filepath.Join("testdata", source), append(args, last...)...)
	return program
}

// job is a run of a program, and its expected outcome.
type job struct {
	args string   // of shmemrun
	with []string // of the program
	out  string   // on standard output; "" if the job is to fail
	say  string   // a regular expression for standard error
}

func (j job) run(t *testing.T, build, program string) {
	t.Helper()
	args := append([]string{"--timeout", "60"}, strings.Fields(j.args)...)
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append(append(args, program), j.with...)...)
	// shmemrun does not turn ASLR off, so PEs of PIE programs differ in addresses.
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if (err == nil) != (j.out != "") || (j.out != "" && out.String() != j.out+"\n") {
		t.Errorf("%v: %v, output %q, want %q", cmd.Args, err, out.String(), j.out)
	}
	if j.say != "" && !regexp.MustCompile(j.say).Match(errs.Bytes()) {
		t.Errorf("nothing says %s", j.say)
	}
	if t.Failed() {
		t.Logf("standard error:\n%s", errs.String())
	}
}

// TestBuilds: wherever the linker puts them, they are symmetric and keep their contents, and
// protected data around them continues to work.
func TestBuilds(t *testing.T) {
	build := need.Build(t)
	for _, flags := range []string{
		"-fPIE -pie",
		"-fno-pie -no-pie",
		"-fno-pie -no-pie -Wl,-z,norelro",
		"-fPIE -pie -Wl,-z,lazy", // the table of functions is beside .data
		"-fPIE -pie -Wl,-z,now",
		"-fPIE -pie -fuse-ld=gold -Wl,-z,lazy",
		"-fsanitize=address",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			job{args: "-n 2", out: "symmetric"}.run(t, build, compile(t, build, "classic.c", flags, "-lshmem"))
		})
	}
}

// TestWays: one program, in the ways to run a job.
func TestWays(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "classic.c", "", "-lshmem")
	hosts := "-n 3 --hosts 3 -x SHMEM_PROVIDER=tcp"
	for _, j := range []job{
		{args: "-n 1", out: "symmetric"},
		{args: hosts, out: "symmetric"},
		{args: "-n 2 -x SHMEM_STATICS=on", out: "symmetric"},
		{args: "-n 2 -x SHMEM_CHECKS=full", out: "symmetric"},
		// A thread that writes all the time, before and during init.
		{args: "-n 2", with: []string{"threads"}, out: "symmetric"},
		{args: "-n 2 -x SHMEM_STATICS=off", with: []string{"no"}, out: "private"},
		{args: hosts + " -x SHMEM_STATICS=off", with: []string{"no"}, out: "private"},
		{
			args: "-n 2 -x SHMEM_STATICS=off -x SHMEM_LOG_LEVEL=info", with: []string{"no"}, out: "private",
			say: `globals and statics are not symmetric: SHMEM_STATICS is off`,
		},
		{
			args: "-n 2 -x SHMEM_LOG_LEVEL=info", with: []string{"protected"}, out: "private",
			say: `globals and statics are not symmetric: the program's data are not mapped as they were linked`,
		},
		{
			args: "-n 2 -x SHMEM_LOG_LEVEL=info", with: []string{"stack"}, out: "private",
			say: `globals and statics are not symmetric: shmem_init was called on a stack in one of them`,
		},
	} {
		t.Run(j.args+" "+strings.Join(j.with, ""), func(t *testing.T) {
			t.Parallel()
			j.run(t, build, program)
		})
	}
}

// TestCplusplus: static members, templates, inline variables, objects with virtual
// functions.
func TestCplusplus(t *testing.T) {
	build := need.Build(t)
	for _, flags := range []string{"-fPIE -pie", "-fno-pie -no-pie"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			job{args: "-n 2", out: "symmetric"}.run(t, build, compile(t, build, "classic.cc", flags, "-lshmem"))
		})
	}
}

// TestCopied: a variable of a library that the linker has copied into the program is the program's,
// for the library as well.
func TestCopied(t *testing.T) {
	build := need.Build(t)
	library := filepath.Join(t.TempDir(), "libcopied.so")
	cc.Run(t, cc.C(), "-shared", "-fPIC", "-o", library, "testdata/copied.c")
	program := compile(t, build, "classic.c", "-fno-pie -no-pie -DCOPIED", "-lshmem", library)
	job{args: "-n 2", out: "symmetric"}.run(t, build, program)
}

// TestHuge: a large .bss costs only its used part.
func TestHuge(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "huge.c", "-mcmodel=medium", "-lshmem")
	job{args: "-n 2", out: "symmetric"}.run(t, build, program)
	job{args: "-n 2 --hosts 2 -x SHMEM_PROVIDER=tcp", out: "symmetric"}.run(t, build, program)
}

// TestLoaded: a program that does not need the library itself keeps its statics, even if a library
// that it needs does.
func TestLoaded(t *testing.T) {
	build := need.Build(t)
	say := `PE 0: shmem_long_p: 0x\w+ \(here\) is in a global or static of the program, and those are not symmetric: ` +
		`the program itself does not need libshmem.so \(link the program with -lshmem, or pass memory from shmem_malloc\)`
	program := compile(t, build, "loaded.c", "", "-ldl")
	job{args: "-n 1", with: []string{filepath.Join(build, "lib", "libshmem.so")}, say: say}.run(t, build, program)

	user := filepath.Join(t.TempDir(), "libuser.so")
	cc.Run(t, cc.C(), "-shared", "-o", user, "-Wl,--no-as-needed", "-L"+filepath.Join(build, "lib"), "-lshmem")
	program = compile(t, build, "loaded.c", "", "-ldl", "-Wl,--no-as-needed", user, "-Wl,-rpath-link="+filepath.Join(build, "lib"))
	job{args: "-n 1", say: say}.run(t, build, program)
}

// TestTwoPrograms: a job of two programs has no symmetric statics, and continues, unless the user
// has requested them.
func TestTwoPrograms(t *testing.T) {
	build := need.Build(t)
	one := compile(t, build, "classic.c", "", "-lshmem")
	other := compile(t, build, "classic.c", "-O2", "-lshmem")
	script := filepath.Join(t.TempDir(), "either")
	text := fmt.Sprintf("#!/bin/sh\ncase $SHMEM_LAUNCHER_PE in 1) exec %s \"$@\";; esac\nexec %s \"$@\"\n", other, one)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	job{args: "-n 2", with: []string{"no"}, out: "private"}.run(t, build, script)
	job{
		args: "-n 2 -x SHMEM_STATICS=on", with: []string{"no"},
		say: `shmem_init: SHMEM_STATICS=on: the program's globals and statics cannot be symmetric: PE 1 runs another program than PE 0 \(start the same file`,
	}.run(t, build, script)
}

// TestAddressSanitizer: it still sees writes between two globals.
func TestAddressSanitizer(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "classic.c", "-fsanitize=address", "-lshmem")
	job{args: "-n 1", with: []string{"overflow"}, say: `AddressSanitizer: global-buffer-overflow`}.run(t, build, program)
}

// holdsWriters reports whether the kernel, which must be Linux 5.19 at least, lets a process of
// this user hold its own writers, as fork.c does.
func holdsWriters(t *testing.T) bool {
	var name unix.Utsname
	var major, minor int
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	if major < 5 || major == 5 && minor < 19 {
		return false
	}
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if errno != 0 {
		device, err := unix.Open("/dev/userfaultfd", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		return unix.Close(device) == nil
	}
	return unix.Close(int(fd)) == nil
}

// TestFork: children have their own globals, as of the moment of the fork, while another thread and
// another PE write. "copied" is for a user without the permission to block the other thread.
func TestFork(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "fork.c", "", "-lshmem")
	how := []string{"copied"}
	if holdsWriters(t) {
		how = append(how, "held")
	} else {
		t.Log("this user may not use userfaultfd, or the kernel has none that serves: children are not asked for an order of writes")
	}
	for _, h := range how {
		for _, args := range []string{"-n 2", "-n 2 --hosts 2 -x SHMEM_PROVIDER=tcp"} {
			t.Run(h+" "+args, func(t *testing.T) {
				start := time.Now()
				job{args: args, with: []string{h}, out: "children are apart"}.run(t, build, program)
				t.Logf("%v", time.Since(start).Round(time.Millisecond))
			})
		}
	}
}
