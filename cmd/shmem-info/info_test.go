package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmem-info": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
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
