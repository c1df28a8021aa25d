package main

import (
	"bytes"
	"os"
	"testing"
)

func TestPageIsUpToDate(t *testing.T) {
	const page = "../../../docs/reference/environment.md"
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, render()) {
		t.Errorf("docs/reference/environment.md differs from the table of settings (run go generate ./runtime/config)")
	}
}

func TestNvshmemIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../docs/start/from-nvshmem.md")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := withNvshmem(got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/start/from-nvshmem.md differs from the table of variables: %v (run make gen)", err)
	}
}
