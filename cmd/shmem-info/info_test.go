package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
