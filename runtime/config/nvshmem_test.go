package config

import (
	"slices"
	"strings"
	"testing"
)

// TestNvshmemNames: the list is sorted, each name is there once and says something, and it has
// just those aliases that settings have.
func TestNvshmemNames(t *testing.T) {
	if !slices.IsSortedFunc(Nvshmem, func(a, b Theirs) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the list is not sorted")
	}
	listed := map[string]string{}
	for i := range Nvshmem {
		v := &Nvshmem[i]
		if _, twice := listed[v.Name]; twice || !strings.HasPrefix(v.Name, nvshmemPrefix) || len(v.Says()) < 10 {
			t.Errorf("%s: %s", v.Name, v.Says())
		}
		listed[v.Name] = v.Here
		if here := Lookup(v.Here); v.Here != "" && here == nil {
			t.Errorf("%s sets %s, which is no setting", v.Name, v.Here)
		} else if of := Lookup(v.Name); (of != nil) != (v.convert == nil && v.Here != "") || of != here && of != nil {
			t.Errorf("%s: the table of settings says something else", v.Name)
		}
	}
	for _, s := range Table {
		for _, a := range s.Aliases {
			if strings.HasPrefix(a, nvshmemPrefix) && listed[a] != s.Name {
				t.Errorf("%s is an alias of %s, and not listed", a, s.Name)
			}
		}
	}
	if len(Nvshmem) < 100 {
		t.Errorf("%d names", len(Nvshmem))
	}
}

// TestNvshmemSettings: each variable that sets something does so, for programs that come in by
// the names of NVSHMEM alone.
func TestNvshmemSettings(t *testing.T) {
	for _, c := range []struct{ env, setting, want string }{
		{"NVSHMEM_QP_DEPTH=1000", "SHMEM_RING_SIZE", "1024"},
		{"NVSHMEM_QP_DEPTH=0x400", "SHMEM_RING_SIZE", "1024"},
		{"NVSHMEM_QP_DEPTH=8", "SHMEM_RING_SIZE", "256"},
		{"NVSHMEM_QP_DEPTH=2000000000", "SHMEM_RING_SIZE", "1048576"},
		{"NVSHMEM_QP_DEPTH=0", "SHMEM_RING_SIZE", "4096"},
		{"NVSHMEM_QP_DEPTH=1000 SHMEM_RING_SIZE=512", "SHMEM_RING_SIZE", "512"},
		{"NVSHMEM_IBGDA_NUM_RC_PER_PE=12", "SHMEM_RING_COUNT", "12"},
		{"NVSHMEM_IBGDA_NUM_RC_PER_PE=144", "SHMEM_RING_COUNT", "64"},
		{"NVSHMEM_IBGDA_NUM_DCI=3", "SHMEM_RING_COUNT", "3"},
		{"NVSHMEM_MAX_TEAMS=7", "SHMEM_ARCHIVE_TEAMS", "8"},
		{"NVSHMEM_MAX_TEAMS=134", "SHMEM_ARCHIVE_TEAMS", "135"},
		{"NVSHMEM_MAX_TEAMS=1", "SHMEM_ARCHIVE_TEAMS", "8"},
		{"NVSHMEM_GPUNETIO_NUM_RC_PER_PE_GPU=3", "SHMEM_RING_COUNT", "3"},
		{"NVSHMEM_IBGDA_RC_MAP_BY=SM", "SHMEM_RING_MAP_BY", "sm"},
		{"NVSHMEM_IBGDA_DCI_MAP_BY=dct", "SHMEM_RING_MAP_BY", "pe"},
		{"NVSHMEM_GPUNETIO_RC_MAP_BY=warp", "SHMEM_RING_MAP_BY", "warp"},
		{"NVSHMEM_DISABLE_CUDA_VMM=1", "SHMEM_GPU_SHARE", "ipc"},
		{"NVSHMEM_DISABLE_CUDA_VMM=0", "SHMEM_GPU_SHARE", "auto"},
		{"NVSHMEM_DISABLE_CUDA_VMM=1", "SHMEM_GPU_SHARE", "ipc"}, // a job after the one with 0
		{"NVSHMEM_HEAP_KIND=SYSMEM", "SHMEM_HEAP", "pinned"},
		{"NVSHMEM_CPU_AFFINITY=OFF", "SHMEM_BIND", "off"},
		{"NVSHMEM_BOOTSTRAP=MPI", "SHMEM_BOOTSTRAP", "auto"},
		{"NVSHMEM_BOOTSTRAP=plugin", "SHMEM_BOOTSTRAP", "plugin"},
		{"NVSHMEM_BOOTSTRAP=UID SHMEM_BOOTSTRAP=launcher", "SHMEM_BOOTSTRAP", "launcher"},
		{"NVSHMEM_BOOTSTRAP_PLUGIN=libplug.so", "SHMEM_BOOTSTRAP_PLUGIN", "libplug.so"},
		{"NVSHMEM_SYMMETRIC_SIZE=2g", "SHMEM_SYMMETRIC_SIZE", "2g"},
		{"NVSHMEM_HCA_LIST=mlx5_0:1", "SHMEM_NIC_LIST", "mlx5_0:1"},
		{"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=eth1", "SHMEM_BOOTSTRAP_INTERFACE", "eth1"},
		{"NVSHMEM_BOOTSTRAP_UID_SESSION_ID=10.0.0.1:7000", "SHMEM_BOOTSTRAP_SESSION", "10.0.0.1:7000"},
	} {
		got, _, err := ParseNvshmem(strings.Fields(c.env))
		if err != nil {
			t.Errorf("%s: %v", c.env, err)
			continue
		}
		if text := textOf(got, c.setting); text != c.want {
			t.Errorf("%s: %s=%s, want %s", c.env, c.setting, text, c.want)
		}
		name, _, _ := strings.Cut(c.env, "=")
		if got, warnings, err := Parse(strings.Fields(c.env)); Lookup(name) == nil &&
			(err != nil || len(warnings) != 0 || !strings.Contains(c.env, " ") && textOf(got, c.setting) != Lookup(c.setting).Default) {
			t.Errorf("%s counts for a program with other names: %v, %v", c.env, warnings, err)
		}
	}
}

func textOf(c *Config, name string) string {
	for _, v := range c.Values() {
		if v.Name == name {
			return v.Text
		}
	}
	return ""
}

// TestNvshmemWarnings: a variable that is ignored is named in a line, and one without effect in
// none.
func TestNvshmemWarnings(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"NVSHMEM_REMOTE_TRANSPORT=libfabric", ""},
		{"NVSHMEM_REMOTE_TRANSPORT=None", ""},
		{"NVSHMEM_REMOTE_TRANSPORT=ibrc", `read setting NVSHMEM_REMOTE_TRANSPORT="ibrc": ignored, the network is reached by libfabric, SHMEM_PROVIDER=verbs is for InfiniBand (unset it)`},
		{"NVSHMEM_MAX_TEAMS=1001", `read setting NVSHMEM_MAX_TEAMS="1001": ignored, there is room for 1,000 teams (set SHMEM_ARCHIVE_TEAMS)`},
		{"NVSHMEM_QP_DEPTH=many", `read setting NVSHMEM_QP_DEPTH="many": ignored, it is not a number (set SHMEM_RING_SIZE)`},
		{"NVSHMEM_BOOTSTRAP=smoke", `read setting NVSHMEM_BOOTSTRAP="smoke": ignored, it is not one of pmi, mpi, shmem, uid, plugin (set SHMEM_BOOTSTRAP)`},
		{"NVSHMEM_QP_DEPTH=1000 SHMEM_RING_SIZE=512", `read setting NVSHMEM_QP_DEPTH="1000": ignored, SHMEM_RING_SIZE="512" means the same and comes first (unset one of them)`},
		{"NVSHMEM_IBGDA_NUM_RC_PER_PE=8 NVSHMEM_IBGDA_NUM_DCI=8", ""},
		{"NVSHMEM_SYMETRIC_SIZE=1g", "read setting NVSHMEM_SYMETRIC_SIZE: NVSHMEM has no such variable, it is ignored (the nearest name is NVSHMEM_SYMMETRIC_SIZE; nvshmem-info -a lists all)"},
		{"NVSHMEM_IB_GID_INDEX=3 NVSHMEM_DISABLE_NVLS=1 NVSHMEM_MAX_TEAMS=7 NVSHMEM_CUMEM_GRANULARITY=1 NVSHMEM_DISABLE_MNNVL=1 NVSHMEM_IB_ENABLE_IBGDA=1", ""},
		{"NVSHMEM_HOME=/opt NVSHMEM_MPI_SUPPORT=1 NVSHMEM_USE_GDRCOPY=0 NVSHMEM_LIB_DIR=/lib NVSHMEM_EMPTY=", ""},
		{"NVSHMEM_MACHINE_READABLE_OUTPUT=1 NVSHMEMTEST_USE_MPI_LAUNCHER=1 NVSHMEMTEST_ALL_IB=1 NVSHMEM_PERFTEST_INSTALL=/opt NVSHMEM_TEST_SRUN_FLAGS=-n2", ""},
	} {
		_, warnings, err := ParseNvshmem(strings.Fields(c.env))
		var got []string
		for _, w := range warnings {
			got = append(got, w.Text)
		}
		if err != nil || strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.env, err, strings.Join(got, "\n"), c.want)
		}
	}
}
