package meet

import (
	"strings"
	"testing"

	"libshmem/runtime/config"
)

func TestAgreeStatics(t *testing.T) {
	one := Statics{Size: 8192, Like: "0x4000+0x1100 ab"}
	other := Statics{Size: 8192, Like: "0x4000+0x1100 cd"}
	none := Statics{Cause: "the program itself does not need libshmem.so", Remedy: "link it"}
	for _, tt := range []struct {
		name  string
		all   []Statics
		cause string // "": they are symmetric
	}{
		{"the same program", []Statics{one, one, one}, ""},
		{"alone", []Statics{one}, ""},
		{"two programs", []Statics{one, one, other}, "PE 2 runs another program than PE 0"},
		{"the first is the other one", []Statics{other, one, one}, "runs another program than PE 0"},
		{"one without", []Statics{one, none}, "PE 1 has none: " + none.Cause},
		{"all without", []Statics{none, none}, none.Cause},
		{"switched off on one", []Statics{one, one.Allowed(config.StaticsOff)}, "PE 1 has none: SHMEM_STATICS is off"},
	} {
		for me := range tt.all {
			got, err := agreeStatics(tt.all, me, config.StaticsAuto)
			if err != nil {
				t.Errorf("%s, PE %d: %v", tt.name, me, err)
			}
			if (tt.cause == "") != (got.Size > 0) {
				t.Errorf("%s, PE %d: %+v", tt.name, me, got)
			}
			if me == 0 && !strings.Contains(got.Cause, tt.cause) {
				t.Errorf("%s, PE 0: %q, want %q", tt.name, got.Cause, tt.cause)
			}
			if got.Size == 0 && got.Remedy == "" {
				t.Errorf("%s, PE %d: no remedy", tt.name, me)
			}
			if _, err := agreeStatics(tt.all, me, config.StaticsOn); (err != nil) != (tt.cause != "") {
				t.Errorf("%s, PE %d, SHMEM_STATICS=on: %v", tt.name, me, err)
			}
		}
	}
}
