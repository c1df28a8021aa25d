package repo

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"libshmem/runtime/config"
)

// TestSettingsAreRead: some code other than runtime/config mentions each field of the settings, so
// that none is accepted and changes nothing.
func TestSettingsAreRead(t *testing.T) {
	mentioned := map[string]bool{
		"Preload": true, // libshmem_preload.so reads it, in C
		"Debug":   true, // Config.Banner and the level of the log have it
	}
	selector := regexp.MustCompile(`\.([A-Z]\w*)\b`)
	for _, f := range files(t) {
		if !strings.HasSuffix(f.path, ".go") || strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.path, "runtime/config/") {
			continue
		}
		for _, m := range selector.FindAllSubmatch(f.data, -1) {
			mentioned[string(m[1])] = true
		}
	}
	n := 0
	for _, of := range []any{config.Config{}, config.LauncherConfig{}, config.FileConfig{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if !field.IsExported() {
				continue
			}
			if n++; !mentioned[field.Name] {
				t.Errorf("runtime/config: nothing reads %T.%s (remove the setting from runtime/config/table.go)", of, field.Name)
			}
		}
	}
	if n < 50 {
		t.Errorf("runtime/config: %d settings found", n)
	}
}
