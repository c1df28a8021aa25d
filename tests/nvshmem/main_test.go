package nvshmem

import (
	"os"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }
