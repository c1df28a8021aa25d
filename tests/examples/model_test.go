package examples

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// tensor describes one tensor of an invented model.
type tensor struct {
	name  string
	dtype string
	size  int // bytes of an element
	shape []int
}

func (x tensor) nbytes() int {
	n := x.size
	for _, d := range x.shape {
		n *= d
	}
	return n
}

// entry is a tensor in the header of a safetensors file.
type entry struct {
	Dtype   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// odd is a model of tensors with awkward sizes: none divides by a number of PEs, some tensors are
// empty or have fewer columns than there are PEs, and the first ones end between two words.
var odd = []tensor{
	{"flags", "BOOL", 1, []int{7}},
	{"scalar", "F64", 8, []int{}},
	{"empty", "F32", 4, []int{0, 384}},
	{"also empty", "I64", 8, []int{0}},
	{"ids", "I64", 8, []int{1, 513}},
	{"vector", "BF16", 2, []int{1009}},
	{"column", "F16", 2, []int{101, 1}},
	{"cube", "F32", 4, []int{13, 17, 19}},
	{"wide", "U8", 1, []int{3, 100003}},
	{"quant", "F8_E4M3", 1, []int{127, 129}},
	{"näme \"with\" \\ and \u001b", "I16", 2, []int{5, 5}},
}

// bytesOf returns a safetensors file of these tensors with random data.
func bytesOf(t *testing.T, tensors []tensor) []byte {
	t.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	end := 0
	for _, x := range tensors {
		header[x.name] = entry{x.dtype, x.shape, [2]int{end, end + x.nbytes()}}
		end += x.nbytes()
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	file = append(file, text...)
	random := rand.New(rand.NewPCG(1, 2))
	for range end {
		file = append(file, byte(random.Uint32()))
	}
	return file
}

// withHeader returns a safetensors file with any header and a given amount of data.
func withHeader(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// realModel returns the file that scripts/setup fetches.
func realModel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(build, "data", "silero_vad_16k.safetensors")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("find the model: %v (run scripts/setup test)", err)
	}
	return path
}
