package doctor

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
)

// Host is one host's part of the report.
type Host struct {
	Name     string
	ID       string   // equal in PEs that share memory
	Takes    []string // the interfaces of IP that a job would use
	Findings []Finding

	PEs     []libshmem.PE // filled in by Reach
	Address []Address     // where it listens; likewise
}

// Address is one of a host, where it listens.
type Address struct {
	Interface string
	IP        string
	Port      int
	Token     string // that the listener says first
	UDP       int    // the port for datagrams; 0: none
	MTU       int    // of the interface
}

// failure is a connection that did not come about.
type failure struct {
	Host, Address int // whose
	Why           string
}

// Reach has all hosts of a job try all addresses of all others, by TCP, from the first PE of each.
// Every PE calls it; each gets the hosts, by the number of their first PE, and the findings between
// them. patience is for each connection. deep also looks for causes, by large transfers, datagrams
// and names.
func Reach(boot bootstrap.Bootstrap, mine Host, patience time.Duration, deep bool) ([]Host, []Finding, error) {
	first, err := gather(boot, mine.ID)
	if err != nil {
		return nil, nil, err
	}
	number, me := map[string]int{}, -1 // of the host that this PE speaks for
	var pes [][]libshmem.PE
	for pe, id := range libshmem.ByPE(first) {
		if _, known := number[id]; !known {
			if pe == boot.Rank() {
				me = len(pes)
			}
			number[id] = len(pes)
			pes = append(pes, nil)
		}
		pes[number[id]] = append(pes[number[id]], pe)
	}
	r := &receiver{}
	if me >= 0 {
		var stop func()
		mine.Address, stop = listen()
		defer stop()
		defer r.close()
		for i := range mine.Address {
			if deep {
				r.receive(i, &mine.Address[i])
			}
		}
	}
	cards, err := gather(boot, mine)
	if err != nil {
		return nil, nil, err
	}
	hosts := make([]Host, len(pes))
	for i := range hosts {
		hosts[i] = cards[pes[i][0]]
		hosts[i].PEs = pes[i]
	}
	var failed []failure
	if me >= 0 {
		failed = connect(hosts, me, patience)
	}
	all, err := gather(boot, failed)
	if err != nil {
		return nil, nil, err
	}
	byHost := make([][]failure, len(hosts))
	for i := range hosts {
		byHost[i] = all[pes[i][0]]
	}
	findings := judge(hosts, byHost)
	if deep {
		first := make([]int, len(pes))
		for i := range pes {
			first[i] = int(pes[i][0])
		}
		more, err := exchange(boot, hosts, first, me, r, patience)
		if err != nil {
			return nil, nil, err
		}
		findings = append(findings, more...)
	}
	return hosts, findings, nil
}

// gather is an allgather of a value that JSON can write.
func gather[T any](boot bootstrap.Bootstrap, mine T) ([]T, error) {
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	all, err := boot.Allgather(b)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(all))
	for i, b := range all {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, fmt.Errorf("read the findings of PE %d: %w", i, err)
		}
	}
	return out, nil
}

// listen opens a socket at each address of this host. It answers each connection with a word that
// only this process knows: an address that two hosts have would else answer for both.
func listen() (addresses []Address, stop func()) {
	var open []net.Listener
	for _, a := range local() {
		l, err := net.Listen("tcp", net.JoinHostPort(a.IP, "0"))
		if err != nil {
			continue // an address that came or went this moment
		}
		a.Port, a.Token = l.Addr().(*net.TCPAddr).Port, rand.Text()
		addresses, open = append(addresses, a), append(open, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed
				}
				_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // the caller sees the missing bytes
				go func() {
					defer c.Close()
					if _, err := c.Write([]byte(a.Token)); err == nil {
						answer(c)
					}
				}()
			}
		}()
	}
	return addresses, func() {
		for _, l := range open {
			_ = l.Close()
		}
	}
}

// local returns the addresses at which another host may reach this one.
func local() []Address {
	var all []Address
	interfaces, _ := net.Interfaces() // where there are none, none are reached
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, _ := i.Addrs() // likewise
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				all = append(all, Address{Interface: i.Name, IP: n.IP.String(), MTU: i.MTU})
			}
		}
	}
	return all
}

// atOnce bounds the connections of one host that are under way.
const atOnce = 64

// connect tries all addresses of the other hosts.
func connect(hosts []Host, me int, patience time.Duration) []failure {
	var (
		mu     sync.Mutex
		failed []failure
		wait   sync.WaitGroup
	)
	slots := make(chan struct{}, atOnce)
	for h := range hosts {
		if h == me {
			continue
		}
		for a, address := range hosts[h].Address {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				if err := try(address, patience); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, failure{h, a, err.Error()})
				}
			})
		}
	}
	wait.Wait()
	return failed
}

// errSilent is the error of a connection without an answer.
var errSilent = errors.New("no answer")

// try connects to an address.
func try(a Address, patience time.Duration) error {
	c, err := dial(a, patience)
	if err == errSilent {
		return fmt.Errorf("no answer in %v", patience)
	}
	if err != nil {
		return err
	}
	return c.Close()
}

// dial connects to an address, and reads its token.
func dial(a Address, patience time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(a.IP, strconv.Itoa(a.Port)), patience)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Timeout() {
			return nil, errSilent
		}
		for errors.As(err, &op) {
			err = op.Err
		}
		return nil, err
	}
	if err := readToken(c, a.Token, patience); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func readToken(c net.Conn, token string, patience time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	b := make([]byte, len(token))
	for n := 0; n < len(b); {
		k, err := c.Read(b[n:])
		if err != nil {
			return errors.New("another process answers there")
		}
		n += k
	}
	if string(b) != token {
		return errors.New("another process answers there")
	}
	return nil
}
