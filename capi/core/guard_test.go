package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/guard"
	"libshmem/runtime/job"
)

// exports are the functions that C calls.
var exports = map[string]any{
	"shmemgoAbort":            shmemgoAbort,
	"shmemgoAcknowledge":      shmemgoAcknowledge,
	"shmemgoComplete":         shmemgoComplete,
	"shmemgoContextOpen":      shmemgoContextOpen,
	"shmemgoCounter":          shmemgoCounter,
	"shmemgoCounterNIC":       shmemgoCounterNIC,
	"shmemgoCounterName":      shmemgoCounterName,
	"shmemgoDepart":           shmemgoDepart,
	"shmemgoError":            shmemgoError,
	"shmemgoErrorPE":          shmemgoErrorPE,
	"shmemgoExplain":          shmemgoExplain,
	"shmemgoFate":             shmemgoFate,
	"shmemgoFence":            shmemgoFence,
	"shmemgoFinalize":         shmemgoFinalize,
	"shmemgoGPUAMO":           shmemgoGPUAMO,
	"shmemgoGPUChosen":        shmemgoGPUChosen,
	"shmemgoGPUClear":         shmemgoGPUClear,
	"shmemgoGPUFindChunks":    shmemgoGPUFindChunks,
	"shmemgoGPUForget":        shmemgoGPUForget,
	"shmemgoGPUHolds":         shmemgoGPUHolds,
	"shmemgoGPULend":          shmemgoGPULend,
	"shmemgoGPUMove":          shmemgoGPUMove,
	"shmemgoGPUMoved":         shmemgoGPUMoved,
	"shmemgoGPUReset":         shmemgoGPUReset,
	"shmemgoGPUSettle":        shmemgoGPUSettle,
	"shmemgoGPUTakeBack":      shmemgoGPUTakeBack,
	"shmemgoGiveUp":           shmemgoGiveUp,
	"shmemgoGlobalExit":       shmemgoGlobalExit,
	"shmemgoHeapAlloc":        shmemgoHeapAlloc,
	"shmemgoHeapBytesFrom":    shmemgoHeapBytesFrom,
	"shmemgoHeapFree":         shmemgoHeapFree,
	"shmemgoHeapRealloc":      shmemgoHeapRealloc,
	"shmemgoInit":             shmemgoInit,
	"shmemgoKernels":          shmemgoKernels,
	"shmemgoLate":             shmemgoLate,
	"shmemgoLeave":            shmemgoLeave,
	"shmemgoMeshAdd":          shmemgoMeshAdd,
	"shmemgoMeshAddress":      shmemgoMeshAddress,
	"shmemgoMeshClose":        shmemgoMeshClose,
	"shmemgoMeshDescribe":     shmemgoMeshDescribe,
	"shmemgoMeshFlush":        shmemgoMeshFlush,
	"shmemgoMeshGet":          shmemgoMeshGet,
	"shmemgoMeshImport":       shmemgoMeshImport,
	"shmemgoMeshOpen":         shmemgoMeshOpen,
	"shmemgoMeshPut":          shmemgoMeshPut,
	"shmemgoMeshReceive":      shmemgoMeshReceive,
	"shmemgoMeshSend":         shmemgoMeshSend,
	"shmemgoMeshRegister":     shmemgoMeshRegister,
	"shmemgoMeshRemove":       shmemgoMeshRemove,
	"shmemgoMeshStatus":       shmemgoMeshStatus,
	"shmemgoMeshUnregister":   shmemgoMeshUnregister,
	"shmemgoMeshWait":         shmemgoMeshWait,
	"shmemgoModuleVariable":   shmemgoModuleVariable,
	"shmemgoKernelChannel":    shmemgoKernelChannel,
	"shmemgoKernelExit":       shmemgoKernelExit,
	"shmemgoNICName":          shmemgoNICName,
	"shmemgoPoll":             shmemgoPoll,
	"shmemgoPost":             shmemgoPost,
	"shmemgoProbe":            shmemgoProbe,
	"shmemgoQuiet":            shmemgoQuiet,
	"shmemgoQuietRings":       shmemgoQuietRings,
	"shmemgoRMAClose":         shmemgoRMAClose,
	"shmemgoRMACloseListener": shmemgoRMACloseListener,
	"shmemgoRMAConnect":       shmemgoRMAConnect,
	"shmemgoRMAContexts":      shmemgoRMAContexts,
	"shmemgoRMAFailure":       shmemgoRMAFailure,
	"shmemgoRMAListen":        shmemgoRMAListen,
	"shmemgoRMARegister":      shmemgoRMARegister,
	"shmemgoRMAUnregister":    shmemgoRMAUnregister,
	"shmemgoRMAWake":          shmemgoRMAWake,
	"shmemgoReaches":          shmemgoReaches,
	"shmemgoRelease":          shmemgoRelease,
	"shmemgoReport":           shmemgoReport,
	"shmemgoReportWait":       shmemgoReportWait,
	"shmemgoRings":            shmemgoRings,
	"shmemgoStreamCall":       shmemgoStreamCall,
	"shmemgoStreamOpen":       shmemgoStreamOpen,
	"shmemgoTeamRenew":        shmemgoTeamRenew,
	"shmemgoTeamShow":         shmemgoTeamShow,
	"shmemgoUniqueID":         shmemgoUniqueID,
	"shmemgoVersion":          shmemgoVersion,
	"shmemgoWake":             shmemgoWake,
}

// calm are exports that cannot panic here, or report nothing, and why.
var calm = map[string]string{
	"shmemgoVersion": "it copies a constant",
	"shmemgoAbort":   "the front has reported a reason, and ends the process",
	"shmemgoDepart":  "the process has ended its job, or never had one",
}

// TestPanics calls each export without a job, which makes it panic, and holds that the panic is
// caught with the name of the call. What needs more to panic is prepared.
func TestPanics(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for addresses that cannot be read
	var caught []*guard.Panic
	guard.End(func(p *guard.Panic) { caught = append(caught, p) })
	prepare := map[string]func(){
		"shmemgoCounterName": func() { nameCounters(); nameSize = 0 },
		"shmemgoError":       func() { failure.Store(new(error)) },
		"shmemgoReport":      func() { current = new(job.Job) },
		"shmemgoReportWait":  func() { current = new(job.Job) },
	}
	for name, label := range catching(t) {
		f, ok := exports[name]
		if !ok {
			t.Errorf("%s has no row here", name)
			continue
		}
		if calm[name] != "" {
			continue
		}
		if p := prepare[name]; p != nil {
			p()
		}
		caught = nil
		reflect.ValueOf(f).Call(arguments(t, name, reflect.TypeOf(f)))
		current = nil
		if len(caught) != 1 || caught[0].Where != label {
			t.Errorf("%s, which is %q for a reader: caught %v", name, label, caught)
		}
	}
	current = new(job.Job)
	shmemgoAbort(1, nil)
	current = nil
}

// arguments returns zeros, but for pointers that have to be read before anything panics.
func arguments(t *testing.T, name string, f reflect.Type) []reflect.Value {
	t.Helper()
	var all []reflect.Value
	for i := range f.NumIn() {
		all = append(all, reflect.Zero(f.In(i)))
	}
	switch last := f.NumIn() - 1; name {
	case "shmemgoInit":
		all[1] = reflect.New(f.In(1).Elem())
	case "shmemgoReport", "shmemgoReportWait":
		all[last] = reflect.NewAt(f.In(last).Elem(), unreadable(t))
	}
	return all
}

// unreadable returns the address of a page that cannot be read.
func unreadable(t *testing.T) unsafe.Pointer {
	t.Helper()
	page, err := unix.MmapPtr(-1, 0, nil, uintptr(os.Getpagesize()), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// catching returns the name by which each export catches its panics; "" if it drops them. To catch
// them is the first thing that it does.
func catching(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil || !strings.Contains(f.Doc.List[len(f.Doc.List)-1].Text, "//export ") {
				continue
			}
			label, ok := catches(f.Body.List)
			if !ok || label == "" && calm[f.Name.Name] == "" {
				t.Errorf("%s does not begin with a deferred guard.Catch: its panics end the process without a reason", f.Name.Name)
				continue
			}
			found[f.Name.Name] = label
		}
	}
	if len(found) < len(exports) {
		t.Errorf("%d exports, of %d", len(found), len(exports))
	}
	return found
}

// catches returns the name by which a function with this body catches its panics: the argument of
// guard.Catch in its first statement, or "" for guard.Drop. ok is false if that statement is
// another one.
func catches(body []ast.Stmt) (label string, ok bool) {
	if len(body) == 0 {
		return "", false
	}
	d, ok := body[0].(*ast.DeferStmt)
	if !ok {
		return "", false
	}
	sel, ok := d.Call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "guard" {
		return "", false
	}
	if sel.Sel.Name == "Drop" {
		return "", true
	}
	name, ok := d.Call.Args[0].(*ast.BasicLit)
	if !ok || sel.Sel.Name != "Catch" {
		return "", false
	}
	label, err := strconv.Unquote(name.Value)
	return label, err == nil
}
