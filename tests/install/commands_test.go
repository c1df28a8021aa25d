package install

import (
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

// installedCommands returns the files of bin.
func installedCommands(t *testing.T, prefix string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(prefix, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	if len(out) < 12 {
		t.Fatalf("only %v are installed", out)
	}
	return out
}

// versions: every command has --version. That of the compiler's wrapper also prints the compiler's.
func versions(t *testing.T, prefix, version string) {
	for _, name := range installedCommands(t, prefix) {
		want := version
		switch {
		case strings.HasPrefix(name, "osh") && name != "oshrun" && name != "oshmem_info":
			want = name + " (libshmem) " + version
		case name == "nvshmem-info":
			want = "NVSHMEM v3." // the release whose names it has
		}
		out := command(t, "", bare, filepath.Join(prefix, "bin", name), "--version")
		if first, _, _ := strings.Cut(out, "\n"); first != want && !strings.HasPrefix(first, "NVSHMEM v") || !strings.Contains(out, version) {
			t.Errorf("%s --version: %q, want a first line %q", name, out, want)
		}
	}
}

// option matches an option at the beginning of a line of help.
var option = regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--?[\w:-]+)`)

// options returns the options that a command's help lists.
func options(t *testing.T, prefix string, line ...string) []string {
	t.Helper()
	argv := append([]string{filepath.Join(prefix, "bin", line[0])}, line[1:]...)
	out := command(t, "", bare, append(argv, "--help")...)
	var found []string
	for _, m := range option.FindAllStringSubmatch(out, -1) {
		found = append(found, m[2])
		if m[1] != "" {
			found = append(found, m[1])
		}
	}
	if len(found) == 0 {
		t.Errorf("the help of %v lists no options:\n%s", line, out)
	}
	return found
}

// lines are the command lines with options of their own.
var lines = [][]string{
	{"shmemrun"}, {"shmem-info"}, {"nvshmem-info"}, {"shmem-doctor"}, {"oshcc"},
	{"shmem-trace", "merge"}, {"shmem-trace", "report"}, {"shmem-trace", "replay"},
}

// manuals: every command has a manual page, with each option that its help lists.
func manuals(t *testing.T, prefix string) {
	need.Command(t, "man")
	for _, name := range installedCommands(t, prefix) {
		page := command(t, "", append([]string{"MANWIDTH=80"}, bare...), "man", "-M", prefix+"/share/man", "1", name)
		for _, want := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"} {
			if !strings.Contains(page, "\n"+want+"\n") {
				t.Errorf("man %s has no section %s:\n%s", name, want, page)
			}
		}
	}
	overview, err := os.ReadFile(filepath.Join(prefix, "share/man/man7/shmem.7"))
	if err != nil {
		t.Fatal(err)
	}
	referred := regexp.MustCompile(`(?m)^\.BR (\S+) \(1\)`).FindAllStringSubmatch(string(overview), -1)
	if len(referred) < 5 || !strings.Contains(string(overview), "\n.B SHMEM_SYMMETRIC_SIZE\n") {
		t.Errorf("shmem(7) names the commands %v, or lacks the variables", referred)
	}
	for _, r := range referred {
		if _, err := os.Stat(filepath.Join(prefix, "share/man/man1", strings.ReplaceAll(r[1], `\-`, "-")+".1")); err != nil {
			t.Errorf("shmem(7): %v", err)
		}
	}
	for _, line := range lines {
		text, err := os.ReadFile(filepath.Join(prefix, "share/man/man1", line[0]+".1"))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(text), `\-`, "-")
		for _, o := range options(t, prefix, line...) {
			if !strings.Contains(plain, `\fB`+o+`\fP`) {
				t.Errorf("the manual page of %s lacks %s", line[0], o)
			}
		}
		need.Command(t, "groff")
		groff := exec.Command("groff", "-man", "-Tascii", "-ww", "-z")
		groff.Stdin = strings.NewReader(string(text))
		if out, err := groff.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff reads the page of %s: %v\n%s", line[0], err, out)
		}
	}
}

// complete returns what bash offers behind a command line, whose last word has begun.
func complete(t *testing.T, prefix string, words ...string) []string {
	t.Helper()
	script := fmt.Sprintf(`compopt() { :; }
. "$0/share/bash-completion/completions/%s" || exit
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"$(complete -p %[1]s | sed 's/.*-F \([^ ]*\) .*/\1/')"
printf '%%s\n' "${COMPREPLY[@]}"`, words[0])
	argv := append([]string{"bash", "--norc", "-c", script, prefix}, words...)
	return strings.Fields(command(t, t.TempDir(), bare, argv...))
}

// completions: bash completes each option that the help lists, and the values of some.
func completions(t *testing.T, prefix string) {
	for _, line := range lines {
		offered := complete(t, prefix, append(slices.Clone(line), "-")...)
		for _, o := range options(t, prefix, line...) {
			if !slices.Contains(offered, o) {
				t.Errorf("%v: bash does not offer %s, but %v", line, o, offered)
			}
		}
	}
	for _, c := range []struct {
		line string
		want []string
	}{
		{"shmemrun --ma", []string{"--map"}},
		{"shmemrun --map ", []string{"block", "cyclic"}},
		{"shmemrun --map c", []string{"cyclic"}},
		{"shmemrun --map = b", []string{"block"}}, // bash takes --map=b apart
		{"shmemrun --bind = ", []string{"auto", "none", "share", "core", "numa"}},
		{"oshrun -n 4 --tag", []string{"--tag-output"}},
		{"shmemrun -n 4 ./prog --ma", nil}, // the program's own option
		{"shmemrun --timeout ", nil},
		{"shmem-trace ", []string{"merge", "report", "replay"}},
		{"shmem-trace re", []string{"report", "replay"}},
		{"shmem-trace replay --model e", []string{"efa", "efa-direct"}},
		{"nvshmrun -genva", []string{"-genvall"}},
		{"oshc++ -sh", []string{"-show", "-showme", "-showme:compile", "-showme:link"}},
	} {
		words := strings.Split(c.line, " ")
		if got := complete(t, prefix, words...); !slices.Equal(got, c.want) {
			t.Errorf("%q: bash offers %v, want %v", c.line, got, c.want)
		}
	}
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Log("no zsh, whose completion is not tried")
		return
	}
	scripts, err := filepath.Glob(prefix + "/share/zsh/site-functions/_*")
	if err != nil || len(scripts) < 7 {
		t.Fatalf("completion for zsh: %v %v", scripts, err)
	}
	for _, file := range scripts {
		command(t, "", bare, zsh, "-n", file)
	}
	// zsh's own functions read the options of a command line that waits for one.
	offer := `autoload -U compinit && fpath=("$0/share/zsh/site-functions" $fpath) && compinit -u -D
[[ $_comps[oshrun] = _shmemrun && $_comps[oshc++] = _oshcc && $_comps[shmem-trace] = _shmem-trace ]]`
	command(t, "", append([]string{"HOME=" + t.TempDir()}, bare...), zsh, "-f", "-c", offer, prefix)
}

// exampleBuild builds installed examples in another folder, and runs one. make test-full builds all.
func exampleBuild(t *testing.T, prefix string) {
	makefile := prefix + "/share/shmem/examples/Makefile"
	dir := t.TempDir()
	targets := []string{"build/ring", "build/heat"}
	if !need.Left("installed examples") {
		targets = []string{"all"}
	}
	command(t, dir, bare, append([]string{"make", "-s", "-j2", "-f", makefile}, targets...)...)
	out := command(t, dir, bare, "make", "-s", "-f", makefile, "run")
	if strings.Count(out, "PE 1 of 4: PE 0 wrote to me\n") != 2 {
		t.Errorf("make run prints\n%s", out)
	}
	// In a copy of the folder the commands come from PATH, and not from a bin that is as far above
	// it as that of the installation.
	root := t.TempDir()
	copied := filepath.Join(root, "a", "b", "examples")
	command(t, "", bare, "mkdir", "-p", filepath.Dir(copied), root+"/bin")
	command(t, "", bare, "ln", "-s", "/bin/false", root+"/bin/oshcc")
	command(t, "", bare, "cp", "-R", filepath.Dir(makefile), copied)
	path := []string{"PATH=" + prefix + "/bin:/usr/bin:/bin"}
	command(t, copied, path, "make", "-s", "build/ring")
	command(t, copied, path, "make", "-s", "clean")
}
