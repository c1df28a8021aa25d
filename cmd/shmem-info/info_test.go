package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmem-info": main})
}

func TestScripts(t *testing.T) {
	// Scripts that need a GPU take the driver in $FAKE by LD_LIBRARY_PATH.
	fake, nic := cudatest.Build(t), stub.Build(t)
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(env *testscript.Env) error {
		env.Setenv("FAKE", fake)
		env.Setenv("STUB", nic)
		return nil
	}})
}

func TestSpecificationIsThatOfTheHeader(t *testing.T) {
	header, err := os.ReadFile("../../include/shmem.h")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?s)#define SHMEM_MAJOR_VERSION (\d+).*#define SHMEM_MINOR_VERSION (\d+)`).FindSubmatch(header)
	if version == nil || fmt.Sprintf("%s.%s", version[1], version[2]) != specification {
		t.Errorf("shmem.h says %q, shmem-info says %s", version, specification)
	}
}

// TestJSON: each view is one JSON object with the facts that the text has.
func TestJSON(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "SHMEM_LIBFABRIC=" + stub.Build(t), "SHMEM_SYMMETRIC_SIZE=64m"}
	read := func(args ...string) (facts map[string]any, text string) {
		t.Helper()
		var object, lines, stderr bytes.Buffer
		run(append(args, "--json"), environ, &object, &stderr)
		run(args, environ, &lines, io.Discard)
		d := json.NewDecoder(&object)
		if err := d.Decode(&facts); err != nil || d.More() {
			t.Fatalf("%v: %v: not one object of JSON: %s%s", args, err, object.Bytes(), stderr.Bytes())
		}
		return facts, lines.String()
	}

	facts, _ := read()
	heap, _ := facts["heap"].(map[string]any)
	if facts["version"] != libshmem.Version || heap["size"] != float64(64<<20) || len(heap["internal_area"].(map[string]any)) != len(jobSizes) {
		t.Errorf("summary: %v", facts)
	}
	facts, text := read("--env")
	settings, _ := facts["settings"].([]any)
	if n := strings.Count(text, "\n    "); len(settings) < 40 || n < 2*len(settings) {
		t.Errorf("%d settings in JSON, %d lines about settings in text", len(settings), n)
	}
	for _, s := range settings {
		s := s.(map[string]any)
		if line := fmt.Sprintf("%s=%s  [", s["name"], s["value"]); !strings.Contains(text, line) {
			t.Errorf("the text has no line %q", line)
		}
		if s["name"] == "SHMEM_SYMMETRIC_SIZE" && (s["from"] != "SHMEM_SYMMETRIC_SIZE" || s["default"] != "1g") {
			t.Errorf("%v", s)
		}
	}
	facts, text = read("--fabric")
	chosen := 0
	for _, o := range facts["offers"].([]any) {
		o := o.(map[string]any)
		if !strings.Contains(text, o["nic"].(string)) {
			t.Errorf("the text has no NIC %s", o["nic"])
		}
		if o["chosen"] == true {
			chosen++
		}
	}
	if opened, _ := facts["opened"].(map[string]any); chosen == 0 || opened["nic"] == "" || len(opened["grants"].(map[string]any)) != len(fabric.Properties) {
		t.Errorf("network: %v", facts)
	}
	facts, text = read("--topology")
	for _, c := range facts["choices"].([]any) {
		if c := c.(map[string]any); !strings.Contains(text, c["nic"].(string)) || c["why"] == "" {
			t.Errorf("topology: %v", c)
		}
	}
}
