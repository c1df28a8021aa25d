package shmlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

func open(t *testing.T, stderr *bytes.Buffer, env ...string) *Log {
	t.Helper()
	cfg, _, err := config.Parse(env)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(cfg, stderr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bare takes off the beginning of lines, and wants it there: the host, this process, a thread of
// it.
func bare(t *testing.T, text string) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	prefix := regexp.MustCompile(fmt.Sprintf(`^shmem: %s:%d:\d+(:| (\[|PE ))`, regexp.QuoteMeta(host), os.Getpid()))
	var b strings.Builder
	for line := range strings.Lines(text) {
		at := prefix.FindStringSubmatchIndex(line)
		if at == nil {
			t.Fatalf("a line begins with %q", line)
		}
		b.WriteString(strings.TrimPrefix(line[at[2]:], ": "))
	}
	return b.String()
}

func TestLevelsAndSubsystems(t *testing.T) {
	for _, tt := range []struct{ env, want string }{
		{"", "heap warn"},
		{"SHMEM_LOG_LEVEL=error", ""},
		{"SHMEM_LOG_LEVEL=info", "heap warn, heap info, fabric info"},
		{"SHMEM_LOG_LEVEL=trace SHMEM_LOG_SUBSYS=fabric,proxy", "heap warn, fabric info, fabric trace"},
		{"SHMEM_LOG_LEVEL=debug SHMEM_LOG_SUBSYS=proxy", "heap warn"},
		{"SHMEM_LOG_LEVEL=trace SHMEM_LOG_SUBSYS=^fabric,proxy", "heap warn, heap info"},
		{"NVSHMEM_DEBUG=TRACE NVSHMEM_DEBUG_SUBSYS=^MEM", "heap warn, fabric info, fabric trace"},
		{"SHMEM_DEBUG=1 SHMEM_LOG_SUBSYS=all,proxy", "heap warn, heap info, fabric info"},
	} {
		var out bytes.Buffer
		l := open(t, &out, strings.Fields(tt.env)...)
		l.Printf("heap", config.LogWarn, "warn")
		l.Printf("heap", config.LogInfo, "info")
		l.Printf("fabric", config.LogInfo, "info")
		l.Printf("fabric", config.LogTrace, "trace")
		got := strings.ReplaceAll(bare(t, out.String()), ": ", " ")
		if got = strings.ReplaceAll(strings.TrimSpace(got), "\n", ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.env, got, tt.want)
		}
	}
}

func TestALineIsOneLine(t *testing.T) {
	var out bytes.Buffer
	l := open(t, &out)
	l.SetPE(3)
	l.Printf("heap", config.LogError, "a\nb %d", 1)
	l.SetGPU(7)
	l.Printf("heap", config.LogError, "c")
	if got, want := bare(t, out.String()), " PE 3: heap: a | b 1\n [7] PE 3: heap: c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	out.Reset()
	l.Printf("heap", config.LogError, "late")
	l.Say("heap", config.LogError, "late")
	l.SayWith("heap", config.LogError, "PE 3", "late", []string{"later"})
	if err := l.Print("late\nlater\n"); err != nil || out.Len() != 0 {
		t.Errorf("a closed log prints %q, %v", out.String(), err)
	}
	var none *Log
	none.SetPE(1)
	none.SetGPU(1)
	none.Printf("heap", config.LogError, "x")
	if err := none.Close(); err != nil || none.Enabled("heap", config.LogError) {
		t.Error("a nil log is not silent")
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	for i := range 2 { // the second one appends
		l := open(t, &stderr, "SHMEM_LOG_FILE="+dir+"/%h-%p-100%%.log")
		l.Printf("pe", config.LogWarn, "line\n%d", i)
		l.SetPE(3)
		l.SetGPU(0)
		l.Printf("heap", config.LogError, "%d", i)
		l.Say("pe", config.LogInfo, "said")
		if err := errors.Join(l.Print("a\nb\n"), l.Close()); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s-%d-100%%.log", host, os.Getpid())))
	if err != nil || stderr.Len() != 0 {
		t.Fatalf("%v; standard error %q", err, stderr.String())
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var r struct {
			Level, Host, Subsys, Message string
			Time                         time.Time
			PID, TID                     int
			PE, GPU                      *int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Host != host || r.PID != os.Getpid() || r.TID == 0 || time.Since(r.Time) > time.Hour || (r.PE == nil) != (r.GPU == nil) {
			t.Errorf("%s", line)
		}
		if r.PE != nil && (*r.PE != 3 || *r.GPU != 0) {
			t.Errorf("%s", line)
		}
		got = append(got, fmt.Sprintf("%s %s %q %v", r.Level, r.Subsys, r.Message, r.PE != nil))
	}
	one := []string{`warn pe "line\n0" false`, `error heap "0" true`, `info pe "said" true`, `  "a\nb\n" true`}
	want := append(slices.Clone(one), strings.ReplaceAll(one[0], "0", "1"), strings.ReplaceAll(one[1], "0", "1"), one[2], one[3])
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cfg, _, err := config.Parse([]string{"SHMEM_LOG_FILE=" + dir + "/none/x"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(cfg, &stderr)
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, shmerr.ErrSetting) || !strings.HasPrefix(err.Error(), `open SHMEM_LOG_FILE="`+dir+`/none/x": `) {
		t.Errorf("got %v", err)
	}
}

// A text of Say is one line, at any level.
func TestSay(t *testing.T) {
	var out bytes.Buffer
	l := open(t, &out, "SHMEM_LOG_LEVEL=error")
	l.Say("pe", config.LogInfo, "libshmem: two\nlines")
	if got, want := out.String(), "shmem: libshmem: two | lines\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var none *Log
	none.Say("pe", config.LogError, "x")
}

// Lines below a text of SayWith name their object for people, and are a field for programs.
func TestSayWith(t *testing.T) {
	var out bytes.Buffer
	l := open(t, &out)
	l.SayWith("pe", config.LogWarn, "PE 3", "waits", []string{"first", "  second"})
	if got, want := out.String(), "shmem: PE 3: waits\nshmem: PE 3:   first\nshmem: PE 3:     second\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	l.asText = false
	l.lines = zerolog.New(&out)
	l.SayWith("pe", config.LogWarn, "PE 3", "waits", []string{"first", "  second"})
	if got := out.String(); !strings.Contains(got, `"events":["first","  second"],"message":"PE 3: waits"`) {
		t.Errorf("got %s", got)
	}
	var none *Log
	none.SayWith("pe", config.LogError, "PE 3", "x", nil)
}

func TestConcurrentLinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	l := open(t, &out)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				l.Printf("pe", config.LogWarn, "whole")
			}
		})
	}
	wg.Wait()
	text := bare(t, out.String())
	if got := strings.Count(text, "pe: whole\n"); got != 400 || len(text) != 400*len("pe: whole\n") {
		t.Errorf("%d of 400 lines are whole", got)
	}
}

// A terminal gets text for people, even if it is named as a file.
func TestTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, nil, fmt.Sprintf("SHMEM_LOG_FILE=/dev/pts/%d", number))
	l.Printf("pe", config.LogWarn, "look")
	line, err := bufio.NewReader(master).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if got := bare(t, line); got != "pe: look\r\n" {
		t.Errorf("%q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: lost records are reported each time that the disk fills, and their number at the
// end.
func TestFullDisk(t *testing.T) {
	const full, number = " PE 3: log: write /dev/full: no space left on device, records are lost (make room there, or name another file in SHMEM_LOG_FILE)\n",
		" PE 3: log: /dev/full lacks %d records\n"
	var stderr bytes.Buffer
	l := open(t, &stderr, "SHMEM_LOG_FILE=/dev/full")
	l.SetPE(3)
	says := func(want string) {
		t.Helper()
		if got := bare(t, stderr.String()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		stderr.Reset()
	}
	words := func() { l.Printf("heap", config.LogError, "words") }
	words()
	says(full)
	words()
	if err := l.Print("several\nlines\n"); err != nil {
		t.Errorf("print: %v", err)
	}
	says("")
	disk := l.file.File
	room, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	l.file.File = room
	words()
	says("")
	l.file.File = disk
	words()
	says(full)
	if err := errors.Join(l.Close(), room.Close()); err != nil {
		t.Error(err)
	}
	says(fmt.Sprintf(number, 4))
}

// TestPipeWithoutReader: no PE waits for a reader of the log.
func TestPipeWithoutReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Parse([]string{"SHMEM_LOG_FILE=" + name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cfg, nil); !errors.Is(err, unix.ENXIO) || !errors.Is(err, shmerr.ErrSetting) || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v", err)
	}
	reader, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var stderr bytes.Buffer
	l := open(t, &stderr, "SHMEM_LOG_FILE="+name)
	l.Printf("heap", config.LogError, "words")
	line := make([]byte, 1000)
	if n, err := reader.Read(line); err != nil || !strings.Contains(string(line[:n]), `"message":"words"`) || stderr.Len() > 0 {
		t.Errorf("%q, error %v; stderr %q", line[:n], err, &stderr)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
