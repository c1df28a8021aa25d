package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
	"libshmem/tests/need"
)

func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }

// openFake opens the fake driver in dir.
func openFake(dir string) (*Driver, error) {
	return open(filepath.Join(dir, cudatest.Driver), filepath.Join(dir, cudatest.GDR))
}

func TestOpen(t *testing.T) {
	dir := cudatest.Build(t)
	log := cudatest.Set(t, "devices=2 version=12040")
	d, err := openFake(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Version.String() != "12.4" || d.Count != 2 || d.File != filepath.Join(dir, cudatest.Driver) {
		t.Errorf("version %s, %d devices, file %s", d.Version, d.Count, d.File)
	}
	if got := strings.Join(log.Calls(), " "); got != "cuDriverGetVersion 0 cuInit 0 cuDeviceGetCount 0" {
		t.Errorf("calls: %s", got)
	}
}

// TestOpenRefuses: each way in which a machine lacks the driver has an error that names the missing
// part and the remedy.
func TestOpenRefuses(t *testing.T) {
	whole := cudatest.Build(t)
	for _, tt := range []struct {
		name, dir, settings string
		kind                error
		want                string
	}{
		{"no library", "/none", "", shmerr.ErrNoLibrary, "load /none/libcuda.so.1: cannot open shared object file: No such file or directory (install NVIDIA's driver; in a container, start it with the GPUs of the host)"},
		{"a function is missing", cudatest.Build(t, "NO_ALLOC"), "", shmerr.ErrNoLibrary, "libcuda.so.1 has no function cuMemAlloc_v2 (install a driver of CUDA 11.0 or later)"},
		{"an old driver", whole, "version=10020", shmerr.ErrVersion, "libcuda.so.1 is of CUDA 10.2, older than 11.0 (install a newer driver)"},
		{"no device, says cuInit", whole, "init=100", shmerr.ErrUnsupported, "cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected (nvidia-smi must list a GPU;"},
		{"no device in the count", whole, "devices=0", shmerr.ErrUnsupported, "count the GPUs: there is none (nvidia-smi must list a GPU;"},
		{"kernel modules of another version", whole, "init=803", shmerr.ErrSystem, "cuInit: error 803, which the driver has no name for (load the kernel modules of the version of libcuda.so.1"},
		{"fabric manager", whole, "init=802", shmerr.ErrSystem, "(start nvidia-fabricmanager)"},
		{"stub library", whole, "init=34", shmerr.ErrUnsupported, "(take CUDA's stubs folder out of the loader's path)"},
		{"code for another GPU", whole, "init=209", shmerr.ErrUnsupported, "(compile the code for this GPU too, or as PTX)"},
		{"code of a newer compiler", whole, "init=222", shmerr.ErrUnsupported, "(install a newer driver, or compile the code for this GPU)"},
		{"no way between GPUs", whole, "init=217", shmerr.ErrUnsupported, "cuInit: error 217"},
		{"a kernel trapped", whole, "init=719", shmerr.ErrSystem, "(a kernel failed earlier, and no call works after that: run the program under compute-sanitizer)"},
		{"a kernel's illegal instruction", whole, "init=715", shmerr.ErrSystem, "(a kernel failed earlier,"},
		{"a kernel's illegal address", whole, "init=700", shmerr.ErrSystem, "(a kernel failed earlier,"},
		{"the version cannot be asked", whole, "fail_at=1", shmerr.ErrSystem, "cuDriverGetVersion: CUDA_ERROR_UNKNOWN, unknown error"},
		{"the count cannot be asked", whole, "fail_at=3", shmerr.ErrSystem, "cuDeviceGetCount: CUDA_ERROR_UNKNOWN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cudatest.Set(t, tt.settings)
			d, err := openFake(tt.dir)
			if d != nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
	text := filepath.Join(t.TempDir(), cudatest.Driver)
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(text, ""); !errors.Is(err, shmerr.ErrNoLibrary) || !strings.Contains(err.Error(), "load "+text+": ") {
		t.Errorf("a file that is no library: error %v", err)
	}
}

func TestCallErrorIsKept(t *testing.T) {
	cudatest.Set(t, "init=100")
	_, err := openFake(cudatest.Build(t))
	var e *CallError
	if !errors.As(err, &e) || e.Code != 100 || e.Call != "cuInit" || e.Name != "CUDA_ERROR_NO_DEVICE" {
		t.Errorf("error %v holds %+v", err, e)
	}
}

// TestOpenOnce: the driver that the process has is not replaced, and one that
// failed is tried again.
func TestOpenOnce(t *testing.T) {
	first, firstErr := Open()
	second, secondErr := Open()
	if first != second || (firstErr == nil) != (secondErr == nil) || (first == nil) != (firstErr != nil) {
		t.Errorf("first %v, %v; second %v, %v", first, firstErr, second, secondErr)
	}
	if firstErr != nil && !errors.Is(firstErr, shmerr.ErrNoLibrary) && !errors.Is(firstErr, shmerr.ErrUnsupported) && !errors.Is(firstErr, shmerr.ErrSystem) {
		t.Errorf("error of no kind: %v", firstErr)
	}
}
