package nvshmem

import (
	"os"
	"testing"

	"libshmem/tests/need"
)

func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }
