package tracereport

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
)

// FuzzReport makes reports of any two files: it may refuse them, and what it says of the others is
// printable and in form.
func FuzzReport(f *testing.F) {
	a := sample.Head(0, 2, `"host":"red","program":"p","lost":2,"discarded":2,"clock":[{"at":1,"offset":-1,"error":0.5},{"at":9,"offset":7,"error":0}]`)
	a.Call("shmem_init", 0, 10, "")
	a.Call("shmem_putmem", 1000, 20, `"pe":1,"bytes":8`)
	a.Call("shmem_barrier_all", 2000, 900, `"team":0`)
	b := sample.Head(1, 2, `"host":"blue","unseen":["x"]`)
	b.Call("shmem_barrier_all", 2500, 400, `"team":0`)
	b.Call("shmem_broadcastmem", 4000, 1, `"team":4`)
	b.Raw(`{"ph":"M","name":"libshmem_team","args":{"team":4,"pes":[0,1]}}`)
	f.Add([]byte(a.Text()), []byte(b.Text()))
	f.Add([]byte(a.Text()), []byte(b.Text()[:300]))
	f.Add([]byte(`[{"ph":"X","name":"send","pid":9,"tid":1,"ts":-1e12,"dur":1e12,"args":{"to":50,"bytes":9223372036854775807}}]`), []byte(``))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{"1.json": one, "2.json": two} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, _, err := Make([]string{dir})
		if err != nil {
			if !strings.Contains(err.Error(), ".json") || !strings.HasSuffix(err.Error(), ")") {
				t.Errorf("the error %v has no file or no remedy", err)
			}
			return
		}
		form, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var text, page bytes.Buffer
		for _, err := range []error{r.Text(&text), r.HTML(&page)} {
			if err != nil {
				t.Error(err)
			}
		}
		for _, c := range text.String() {
			if c < ' ' && c != '\n' {
				t.Fatalf("the text has the character %q", c)
			}
		}
		if bytes.Contains(form, []byte("null")) && r.Waits.Start != nil {
			t.Errorf("JSON %s", form)
		}
	})
}
