package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nvshmem is NVSHMEM, with the program for GPUs built for it.
type nvshmem struct {
	program string   // its file
	dir     string   // temporary: where the PEs meet
	launch  []string // options of shmemrun
	bin     string   // folder of libshmem's commands
	starts  int      // so far: each start of the PEs has its own file in dir
}

// newNVSHMEM builds the program for GPUs for NVSHMEM. An error says why the comparison is left out.
func newNVSHMEM(s *settings, bin string) (rival, error) {
	if len(s.gpuScopes()) == 0 {
		return nil, errors.New("its figures are those of GPUs (add --scope gpu)")
	}
	if err := s.onOneMachine(); err != nil {
		return nil, err
	}
	home, err := findNVSHMEM(s.nvshmemHome)
	if err != nil {
		return nil, err
	}
	dir, err := measureSources(bin)
	if err != nil {
		return nil, err
	}
	build, err := buildOfNVSHMEM(home, bin, dir)
	if err != nil {
		return nil, err
	}
	n := &nvshmem{launch: s.launchArgs(), bin: bin}
	if n.program, err = build.build(dir); err != nil {
		return nil, fmt.Errorf("build the program for GPUs: %w", err)
	}
	if n.dir, err = os.MkdirTemp("", "shmem-perf-"); err != nil {
		return nil, err
	}
	return n, nil
}

// buildOfNVSHMEM returns how to build the program for the NVSHMEM in folder home. NVSHMEM's device
// library is linked in, which needs -rdc. The program finds NVSHMEM's host library by its RPATH,
// which comes before the LD_LIBRARY_PATH of shmemrun, in which libshmem's own libnvshmem_host is.
// -w, because NVSHMEM's headers cause warnings.
func buildOfNVSHMEM(home, bin, dir string) (*deviceBuild, error) {
	lib := filepath.Join(home, "lib")
	host, err := filepath.Glob(filepath.Join(lib, "libnvshmem_host.so.[0-9]"))
	if err != nil || len(host) == 0 {
		return nil, fmt.Errorf("%s has no libnvshmem_host.so (install NVSHMEM again)", lib)
	}
	ours := buildOfOurs(bin, dir) // perf.h includes shmem.h, which declares what nvshmem.cu defines
	return &deviceBuild{
		name: "perf-nvshmem", sources: append(slices.Clone(deviceSources), "nvshmem.cu"), headers: append(slices.Clone(deviceHeaders), "nvshmem_names.h"),
		include: append([]string{filepath.Join(home, "include")}, ours.include...),
		flags:   []string{"-std=c++17", "-w", "-rdc=true", "-DPERF_NVSHMEM"},
		link:    []string{"-L" + lib, "-lnvshmem_device", "-l:" + filepath.Base(host[len(host)-1]), "-Xlinker", "-rpath=" + lib, "-Xlinker", "--disable-new-dtags"},
	}, nil
}

// findNVSHMEM returns the folder of NVIDIA's NVSHMEM: named, the value of NVSHMEM_HOME, or else
// that of the wheel (nvidia-nvshmem-cu12 or -cu13) that python3 finds. A folder without NVSHMEM's
// plugins does not count: NVSHMEM_HOME may also name libshmem's files for programs of NVSHMEM.
func findNVSHMEM(named string) (string, error) {
	homes := []string{named}
	const limit = 20 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	find := exec.CommandContext(ctx, "python3", "-c", "import nvidia.nvshmem as n\nfor p in n.__path__: print(p)")
	if out, err := find.Output(); err == nil {
		homes = append(homes, strings.Split(string(bytes.TrimSpace(out)), "\n")...)
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		plugins, err := filepath.Glob(filepath.Join(home, "lib", "nvshmem_bootstrap_uid.so*"))
		if err == nil && len(plugins) > 0 && isFile(filepath.Join(home, "lib", "libnvshmem_device.a")) {
			return filepath.Abs(home)
		}
	}
	return "", errors.New("neither NVSHMEM_HOME nor python3 leads to NVSHMEM (pip install nvidia-nvshmem-cu13, or -cu12)")
}

// runJob starts the PEs once, through shmemrun, and reports their figures. It does not need the
// arguments of the program for the host.
func (n *nvshmem) runJob(r *reporter, _ []string) error {
	n.starts++
	meeting := filepath.Join(n.dir, fmt.Sprint(n.starts))
	args := append(slices.Clone(n.launch), "-x", "PERF_MEETING="+meeting, "--", filepath.Join(n.bin, "shmem-perf"), asPE)
	cmd := exec.Command(filepath.Join(n.bin, "shmemrun"), append(args, r.settings.deviceArgs(n.program)...)...)
	cmd.Stderr = os.Stderr
	read, err := r.runAndRead(cmd, "nvshmem")
	if read == nil && err != nil {
		return fmt.Errorf("its job ended badly: %w (see the messages above)", err)
	}
	return read
}

// close removes the folder in which the PEs have met.
func (n *nvshmem) close() { _ = os.RemoveAll(n.dir) }
