package shmlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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

func TestLevelsAndSubsystems(t *testing.T) {
	for _, tt := range []struct{ env, want string }{
		{"", "heap warn"},
		{"SHMEM_LOG_LEVEL=error", ""},
		{"SHMEM_LOG_LEVEL=info", "heap warn, heap info, fabric info"},
		{"SHMEM_LOG_LEVEL=trace SHMEM_LOG_SUBSYS=fabric,proxy", "heap warn, fabric info, fabric trace"},
		{"SHMEM_LOG_LEVEL=debug SHMEM_LOG_SUBSYS=proxy", "heap warn"},
		{"SHMEM_DEBUG=1 SHMEM_LOG_SUBSYS=all,proxy", "heap warn, heap info, fabric info"},
	} {
		var out bytes.Buffer
		l := open(t, &out, strings.Fields(tt.env)...)
		l.Printf("heap", config.LogWarn, "warn")
		l.Printf("heap", config.LogInfo, "info")
		l.Printf("fabric", config.LogInfo, "info")
		l.Printf("fabric", config.LogTrace, "trace")
		got := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(out.String()), "shmem: ", ""), ": ", " ")
		if got = strings.ReplaceAll(got, "\n", ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.env, got, tt.want)
		}
	}
}

func TestALineIsOneLine(t *testing.T) {
	var out bytes.Buffer
	l := open(t, &out)
	l.SetPE(3)
	l.Printf("heap", config.LogError, "a\nb %d", 1)
	if want := "shmem: PE 3: heap: a | b 1\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.Printf("heap", config.LogError, "late")
	if strings.Contains(out.String(), "late") {
		t.Error("a closed log prints")
	}
	var none *Log
	none.SetPE(1)
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
		l.Printf("pe", config.LogWarn, "line %d", i)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s-%d-100%%.log", host, os.Getpid())))
	if err != nil || string(text) != "shmem: pe: line 0\nshmem: pe: line 1\n" || stderr.Len() != 0 {
		t.Errorf("file %q, %v; standard error %q", text, err, stderr.String())
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
	if got := strings.Count(out.String(), "shmem: pe: whole\n"); got != 400 || out.Len() != 400*len("shmem: pe: whole\n") {
		t.Errorf("%d of 400 lines are whole", got)
	}
}
