package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"libshmem/runtime/shmerr"
)

// dump prints every field but the origins.
func dump(c *Config) string {
	d := *c
	d.values = nil
	return fmt.Sprintf("%+v", d)
}

func TestDefaults(t *testing.T) {
	c, warnings, err := Parse(nil)
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	c.values = nil
	want := &Config{
		SymmetricSize: 1 << 30, Checks: ChecksOn, LogLevel: LogWarn, LogSubsys: []string{"all"},
		Timeout: time.Minute, BootstrapTimeout: time.Minute, Bootstrap: BootstrapAuto, Launcher: LauncherConfig{FD: -1, NPEs: 1}, BootstrapFile: FileConfig{PE: -1},
		ProxyThreads: 1, RingCount: 8, RingSize: 4096, RegistrationCache: 256 << 20, MessageMemory: 4 << 20, NotifyCount: 4096, ArchiveTeams: 32,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if c.Launcher.Present() || c.Banner() {
		t.Error("an empty environment means no launcher and no banner")
	}
}

func TestValues(t *testing.T) {
	c, warnings, err := Parse([]string{
		"PATH=/bin", "SHMEM_SYMMETRIC_SIZE=1.5G", "SHMEM_CHECKS=FULL", "SHMEM_TIMEOUT=0.5",
		"SHMEM_BOOTSTRAP_TIMEOUT=2s", "SHMEM_LOG_SUBSYS= Heap,,proxy ", "SHMEM_NIC_LIST=eth0,mlx5_0",
		"SHMEM_LAUNCHER_FD=5", "SHMEM_LAUNCHER_PE=3", "SHMEM_LAUNCHER_NPES=4", "SHMEM_LAUNCHER_HOSTS=2", "SHMEM_DEBUG=0",
		"SHMEM_PROXY_THREADS=4", "SHMEM_RING_COUNT=64", "SHMEM_RING_SIZE=256", "SHMEM_RING_MAP_BY=warp", "SHMEM_RING_MEMORY=managed",
		"SHMEM_HEAP=pinned", "NVSHMEM_DISABLE_P2P=1", "SHMEM_GPU_SHARE=ipc", "SHMEM_GPU_NET=copy",
		"SHMEM_HOST_ID=a=b", "SHMEM_PROVIDER=tcp;ofi_rxm", "SHMEM_REGISTRATION_CACHE=0", "SHMEM_STATS=all", "SHMEM_BOOTSTRAP=launcher", "SHMEM_LOG_LEVEL=",
	})
	if err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	c.values = nil
	want := &Config{
		SymmetricSize: 3 << 29, Checks: ChecksFull, LogLevel: LogWarn, LogSubsys: []string{"heap", "proxy"},
		Timeout: 500 * time.Millisecond, BootstrapTimeout: 2 * time.Second, NICs: []string{"eth0", "mlx5_0"},
		Stats: StatsAll, HostID: "a=b", Provider: "tcp;ofi_rxm", Bootstrap: "launcher", BootstrapFile: FileConfig{PE: -1},
		ProxyThreads: 4, RingCount: 64, RingSize: 256, RingMapBy: RingByWarp, RingMemory: RingManaged,
		Heap: HeapPinned, MessageMemory: 4 << 20, NotifyCount: 4096, ArchiveTeams: 32, DisableP2P: true, GPUShare: GPUShareIPC, GPUNet: GPUNetCopy,
		Launcher: LauncherConfig{FD: 5, PE: 3, NPEs: 4, Hosts: 2},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestFirstOfTwoEntriesCounts(t *testing.T) {
	c, _, err := Parse([]string{"SHMEM_HOST_ID=a", "SHMEM_HOST_ID=b"})
	if err != nil || c.HostID != "a" {
		t.Errorf("HostID = %q, %v; getenv would return a", c.HostID, err)
	}
}

func TestDebugRaisesTheLogLevel(t *testing.T) {
	for _, tt := range []struct {
		env    string
		level  LogLevel
		banner bool
	}{
		{"SHMEM_DEBUG=1", LogDebug, true},
		{"SHMEM_DEBUG=1 SHMEM_LOG_LEVEL=error", LogError, true},
		{"SHMEM_DEBUG=off", LogWarn, false},
		{"SHMEM_LOG_LEVEL=info", LogInfo, true},
		{"SHMEM_LOG_LEVEL=warn", LogWarn, false},
	} {
		c, _, err := Parse(strings.Fields(tt.env))
		if err != nil || c.LogLevel != tt.level || c.Banner() != tt.banner {
			t.Errorf("%s: level %s, banner %t, %v", tt.env, c.LogLevel, c.Banner(), err)
		}
	}
}

func TestAliases(t *testing.T) {
	c, warnings, err := Parse([]string{"NVSHMEM_SYMMETRIC_SIZE=4m", "NVSHMEM_HOME=/opt", "NVSHMEM_BOOTSTRAP=MPI"})
	if err != nil || len(warnings) != 0 || c.SymmetricSize != 4<<20 {
		t.Errorf("size %d, %v, %v", c.SymmetricSize, warnings, err)
	}
	c, warnings, err = Parse([]string{"NVSHMEM_SYMMETRIC_SIZE=4m", "SHMEM_SYMMETRIC_SIZE=8m"})
	if err != nil || c.SymmetricSize != 8<<20 || len(warnings) != 1 {
		t.Fatalf("size %d, %v, %v", c.SymmetricSize, warnings, err)
	}
	if want := `read setting NVSHMEM_SYMMETRIC_SIZE="4m": ignored, SHMEM_SYMMETRIC_SIZE="8m" means the same and comes first (unset one of them)`; warnings[0].Text != want {
		t.Errorf("got %s", warnings[0].Text)
	}
	if _, warnings, _ = Parse([]string{"NVSHMEM_SYMMETRIC_SIZE=8m", "SHMEM_SYMMETRIC_SIZE=8m"}); len(warnings) != 0 {
		t.Errorf("two names that agree: %v", warnings)
	}
}

func TestUnknownNamesWarnOnceWithTheNearest(t *testing.T) {
	_, warnings, err := Parse([]string{
		"SHMEM_TIMEOUTS=3", "SHMEM_SYMETRIC_SIZE=1g", "SHMEM_SYMETRIC_SIZE=2g", "SHMEM_PROIVDER=tcp",
		"SHMEM_=1", "SHMEMX=1", "MY_SHMEM_X=1", "SHMEM_" + strings.Repeat("X", 100000) + "=1", "SHMEM_EMPTY=",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		if len(w.Name) < 100 {
			got = append(got, w.Text)
		}
	}
	want := []string{
		"read setting SHMEM_: there is no such setting, it is ignored (the nearest name is SHMEM_INFO; shmem-info --env lists all)",
		"read setting SHMEM_PROIVDER: there is no such setting, it is ignored (the nearest name is SHMEM_PROVIDER; shmem-info --env lists all)",
		"read setting SHMEM_SYMETRIC_SIZE: there is no such setting, it is ignored (the nearest name is SHMEM_SYMMETRIC_SIZE; shmem-info --env lists all)",
		"read setting SHMEM_TIMEOUTS: there is no such setting, it is ignored (the nearest name is SHMEM_TIMEOUT; shmem-info --env lists all)",
	}
	if len(warnings) != 5 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ env, want string }{
		{"SHMEM_SYMMETRIC_SIZE=12q", `read setting SHMEM_SYMMETRIC_SIZE="12q": the letter after the number is not k, m, g or t (use bytes, or a decimal number followed by k, m, g or t, from 1 to 16t, or unset it for 1g)`},
		{"SHMEM_SYMMETRIC_SIZE=0", `read setting SHMEM_SYMMETRIC_SIZE="0": 0 bytes are outside the range (use bytes, or a decimal number followed by k, m, g or t, from 1 to 16t, or unset it for 1g)`},
		{"NVSHMEM_SYMMETRIC_SIZE=17t", `read setting NVSHMEM_SYMMETRIC_SIZE="17t": 18691697672192 bytes are outside the range (use bytes, or a decimal number followed by k, m, g or t, from 1 to 16t, or unset it for 1g)`},
		{"SHMEM_CHECKS=maybe", `read setting SHMEM_CHECKS="maybe": there is no such choice (use one of off, on, full, or unset it for on)`},
		{"SHMEM_HEAP=gpu", `read setting SHMEM_HEAP="gpu": there is no such choice (use one of auto, host, pinned, device, or unset it for auto)`},
		{"SHMEM_TIMEOUT=-1", `read setting SHMEM_TIMEOUT="-1": it is not a decimal number (use seconds from 0 to 31536000, decimals allowed, or unset it for 60)`},
		{"SHMEM_BOOTSTRAP_TIMEOUT=0", `read setting SHMEM_BOOTSTRAP_TIMEOUT="0": it is outside the range (use seconds from 0.001 to 31536000, decimals allowed, or unset it for 60)`},
		{"SHMEM_LOG_SUBSYS=heap,hepa", `read setting SHMEM_LOG_SUBSYS="heap,hepa": there is no "hepa" (use words separated by commas: all, pe, config, bootstrap, heap, gpu, fabric, proxy, ring, coll; with ^ in front of the list, all but these, or unset it for all)`},
		{"SHMEM_RING_SIZE=4097", `read setting SHMEM_RING_SIZE="4097": it is not a power of two (use a power of two from 256 to 1048576, or unset it for 4096)`},
		{"SHMEM_RING_SIZE=4098", `read setting SHMEM_RING_SIZE="4098": it is not a power of two (use a power of two from 256 to 1048576, or unset it for 4096)`},
		{"SHMEM_RING_SIZE=128", `read setting SHMEM_RING_SIZE="128": it is outside the range (use a power of two from 256 to 1048576, or unset it for 4096)`},
		{"SHMEM_RING_COUNT=65", `read setting SHMEM_RING_COUNT="65": it is outside the range (use an integer from 1 to 64, or unset it for 8)`},
		{"SHMEM_PROXY_THREADS=0", `read setting SHMEM_PROXY_THREADS="0": it is outside the range (use an integer from 1 to 4, or unset it for 1)`},
		{"SHMEM_LAUNCHER_PE=x", `read setting SHMEM_LAUNCHER_PE="x": it is not an integer (use an integer from 0 to 1048575, or unset it for 0)`},
	} {
		c, _, err := Parse([]string{tt.env})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got  %v\n want %s", tt.env, err, tt.want)
		}
		var e *shmerr.Error
		if !errors.As(err, &e) || !errors.Is(err, shmerr.ErrSetting) || shmerr.StatusOf(err) != shmerr.BadSetting {
			t.Errorf("%s: the error is not of the kind ErrSetting", tt.env)
		}
		base, _, _ := Parse(nil)
		if dump(c) != dump(base) {
			t.Errorf("%s: a value that is not valid must leave the default", tt.env)
		}
		if shown(t, c) != shown(t, base) {
			t.Errorf("%s: a value that is not valid is shown as the one in use", tt.env)
		}
	}
}

// shown returns the output of Print.
func shown(t *testing.T, c *Config) string {
	t.Helper()
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Two letters that have changed places are one mistake.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"A", "", 1}, {"TIMEOUT", "TIMEOUTS", 1}, {"PROIVDER", "PROVIDER", 1}, {"IHST", "HIST", 1},
		{"HOTSID", "HOSTID", 1}, {"ABC", "CBA", 2}, {"HEAP", "HEPA", 1}, {"STATS", "STATICS", 2},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("from %q to %q: %d, not %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestTwoErrorsAreBothReported(t *testing.T) {
	_, _, err := Parse([]string{"SHMEM_CHECKS=x", "SHMEM_HEAP=x"})
	if err == nil || strings.Count(err.Error(), "read setting") != 2 {
		t.Errorf("got %v", err)
	}
}

func TestPrintShowsValueOriginAndDefault(t *testing.T) {
	c, _, err := Parse([]string{"NVSHMEM_SYMMETRIC_SIZE=2g"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SHMEM_SYMMETRIC_SIZE=2g  [from NVSHMEM_SYMMETRIC_SIZE, default 1g]\n",
		"SHMEM_TIMEOUT=60  [default]\n",
		"    Also read from SMA_SYMMETRIC_SIZE, NVSHMEM_SYMMETRIC_SIZE.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "SHMEM_LAUNCHER_FD") {
		t.Error("unset variables of the launcher are no business of users")
	}
}

// Of another library's variables the words are its own; one that it has and this has not
// is no reason to end a job.
func TestSecretIsNotShown(t *testing.T) {
	const secret = "0123456789abcdef"
	c, _, err := Parse([]string{"SHMEM_BOOTSTRAP_SECRET=" + secret})
	var b strings.Builder
	if err = errors.Join(err, c.Print(&b)); err != nil || c.BootstrapSession.Secret != secret {
		t.Fatalf("%q, %v", c.BootstrapSession.Secret, err)
	}
	if strings.Contains(b.String(), secret) || !strings.Contains(b.String(), "SHMEM_BOOTSTRAP_SECRET=(not shown)  [from SHMEM_BOOTSTRAP_SECRET]") {
		t.Errorf("the secret is shown:\n%s", &b)
	}
	for _, v := range c.Values() {
		if v.Text == secret {
			t.Errorf("the secret is shown: %s", v.Name)
		}
	}
}

func TestForeignWords(t *testing.T) {
	for _, c := range []struct {
		env    string
		level  LogLevel
		subsys string
		warns  string
	}{
		{"NVSHMEM_DEBUG=INFO", LogInfo, "all", ""},
		{"NVSHMEM_DEBUG=TRACE NVSHMEM_DEBUG_SUBSYS=INIT,mem", LogTrace, "pe heap", ""},
		{"NVSHMEM_DEBUG=VERSION", LogError, "all", ""},
		{"NVSHMEM_DEBUG=INFO SHMEM_LOG_LEVEL=error", LogError, "all", `read setting NVSHMEM_DEBUG="info": ignored, SHMEM_LOG_LEVEL="error" means the same and comes first (unset one of them)`},
		{"NVSHMEM_DEBUG=info SHMEM_LOG_LEVEL=info", LogInfo, "all", ""},
		{"NVSHMEM_DEBUG=1", LogWarn, "all", `read setting NVSHMEM_DEBUG="1": ignored, there is no "1" (set SHMEM_LOG_LEVEL)`},
		{"NVSHMEM_DEBUG_SUBSYS=^TRANSPORT,PROXY,COLL", LogWarn, "pe config bootstrap heap gpu ring", ""},
		{"SHMEM_LOG_SUBSYS=^pe,config,bootstrap,heap,gpu,fabric,proxy,ring", LogWarn, "coll", ""},
	} {
		cfg, warnings, err := Parse(strings.Fields(c.env))
		if err != nil {
			t.Errorf("%s: %v", c.env, err)
			continue
		}
		var said []string
		for _, w := range warnings {
			said = append(said, w.Text)
		}
		if cfg.LogLevel != c.level || strings.Join(cfg.LogSubsys, " ") != c.subsys || strings.Join(said, "\n") != c.warns {
			t.Errorf("%s: %v, %v, %q", c.env, cfg.LogLevel, cfg.LogSubsys, said)
		}
	}
	for _, bad := range []string{"^all", "^pe,none", "pe,^heap"} {
		if _, _, err := Parse([]string{"SHMEM_LOG_SUBSYS=" + bad}); err == nil || !strings.Contains(err.Error(), "with ^ in front of the list, all but these") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for i := range Table {
		for name, words := range Table[i].Foreign {
			for from, to := range words {
				if _, err := Table[i].parse(to); err != nil || from != strings.ToLower(from) || Lookup(name) != &Table[i] {
					t.Errorf("%s: %s means %s: %v", name, from, to, err)
				}
			}
		}
	}
}
