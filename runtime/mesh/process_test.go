package mesh

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/shmerr"
	"libshmem/tests/need"
)

// asMember is the variable with the number of the member that this process is; without it this is a
// test.
const asMember = "MESH_TEST_MEMBER"

func TestMain(m *testing.M) {
	if number, err := strconv.Atoi(os.Getenv(asMember)); err == nil {
		if err := runWriter(number); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// processes is the most members of the tests with processes.
const processes = 16

// runWriter is a member in a process of its own. It prints its blob, reads that of member 0 and of
// a region, and then writes 64 KiB with its number into its part of that, over and over. It ends
// when its input ends.
func runWriter(number int) error {
	m, err := Open(Options{Member: number, Members: processes, Secret: secretOfTests, Provider: "tcp", Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	fmt.Println(hex.EncodeToString(m.Address()))
	in := bufio.NewReader(os.Stdin)
	server, err := readBlob(in)
	if err != nil {
		return err
	}
	if _, err := m.Add(server); err != nil {
		return err
	}
	blob, err := readBlob(in)
	if err != nil {
		return err
	}
	remote, req, err := m.Import(blob)
	if err != nil {
		return err
	}
	if err := req.Wait(patience); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, in); close(ended) }()
	b := bytes.Repeat([]byte{byte(number)}, part)
	for first := true; ; {
		select {
		case <-ended:
			return m.Close()
		default:
		}
		req, err := m.Put(0, remote, []Block{block(b, part*number)}, nil, false)
		if err == nil {
			err = req.Wait(patience)
		}
		if err == nil {
			req, err = m.Flush(0, 0)
		}
		if err == nil {
			err = req.Wait(patience)
		}
		if err != nil {
			return err
		}
		if first {
			fmt.Println("writes")
			first = false
		}
	}
}

// TestOtherNetworks runs tests over networks that this machine does not have: EFA, Slingshot and
// verbs. Each is another libfabric, of which a process has one.
func TestOtherNetworks(t *testing.T) {
	library, tests := stub.Build(t), "^Test(PutGet|Signals|CloseRegion)$"
	if need.Full() {
		tests = "^Test(PutGet|Signals|ComeAndGo|CloseRegion|SilentMember|ReadsOfClosing)$"
	}
	for _, n := range stub.Networks(need.Full()) {
		if n.Fabric != "" {
			continue // a mesh takes the provider's default
		}
		t.Run(n.Name, func(t *testing.T) {
			c := exec.Command(os.Args[0], "-test.v", "-test.run", tests)
			c.Env = append(append(os.Environ(), n.Env(library)...), onLibrary+"="+library)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// part is the bytes of each writer's part of the region.
const part = 64 << 10

// readBlob reads a line with a blob.
func readBlob(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	b := make([]byte, hex.DecodedLen(len(bytes.TrimSpace(line))))
	_, err = hex.Decode(b, bytes.TrimSpace(line))
	return b, err
}

// process is a member of another process.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a writer and adds it to a mesh.
func start(t *testing.T, m *Mesh, region *Region, number int) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), asMember+"="+strconv.Itoa(number))
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // it may have ended
	blob, err := readBlob(p.out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(blob); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(in, "%x\n%x\n", m.Address(), region.Describe())
	if line, err := p.out.ReadString('\n'); line != "writes\n" {
		t.Fatalf("member %d says %q, %v", number, line, err)
	}
	return p
}

// leave ends a writer in good order.
func (p *process) leave(t *testing.T) {
	t.Helper()
	_ = p.in.Close()
	rest, _ := io.ReadAll(p.out)
	if err := p.Wait(); err != nil {
		t.Errorf("a member ends with %v: %s", err, rest)
	}
}

// TestProcesses has members of other processes come, write and leave, or be killed while they
// write: this process lives, learns of each end by itself, and the others go on.
func TestProcesses(t *testing.T) {
	m := open(t, 0, processes, func(o *Options) { o.Timeout = 5 * time.Second })
	there := memory(t, processes*part)
	region, err := m.Register(unsafe.Pointer(&there[0]), processes*part)
	if err != nil {
		t.Fatal(err)
	}
	lasting := start(t, m, region, 1)
	for number := 2; number < 6; number++ {
		p := start(t, m, region, number)
		if number%2 == 0 {
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			until(t, "the loss of a killed member", func() bool { return m.Status(number) != nil })
			t.Logf("the loss of a killed member took %v", time.Since(killed))
			wants(t, m.Status(number), shmerr.ErrPeerLost, fmt.Sprintf("member %d cannot be reached any more", number))
			_ = p.Wait() // it was killed
		} else {
			p.leave(t)
			until(t, "the news that a member has left", func() bool { return m.Status(number) != nil })
			wants(t, m.Status(number), shmerr.ErrPeerLost, "has left the mesh")
		}
		if there[part*number] != byte(number) || there[part*number+part-1] != byte(number) {
			t.Errorf("member %d has left %d bytes of its own", number, bytes.Count(there[part*number:part*number+part], []byte{byte(number)}))
		}
	}
	if err := m.Status(1); err != nil {
		t.Error(err)
	}
	lasting.leave(t)
}
