// Package moved shows that a program which uses analytics-go v3 moves to Sluice by search and replace.
package moved

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	peer = "github.com/segmentio/analytics-go/v3"
	ours = "github.com/sluice-dev/sluice/clients/go/analytics-go"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// build compiles the program with its import of analytics-go replaced.
func build(t *testing.T, path string) (program string) {
	dir := t.TempDir()
	source, err := filepath.Abs("program/main.go")
	must(t, err)
	text, err := os.ReadFile(source)
	must(t, err)
	if bytes.Count(text, []byte(peer)) != 1 {
		t.Fatal("the path does not occur once")
	}
	changed, overlay, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	must(t, os.WriteFile(changed, bytes.Replace(text, []byte(peer), []byte(path), 1), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, replace, 0o600))
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

type body struct {
	Batch   []map[string]any
	Context map[string]any
}

// run returns what the program prints, and what the service gets, each of its requests answered with the status.
func run(t *testing.T, program string, status int) (printed string, bodies []body) {
	requests := make(chan body, 100)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- read(t, r)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	defer service.Close()
	out, err := exec.Command(program, service.URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	close(requests)
	for request := range requests {
		bodies = append(bodies, request)
	}
	return string(out), bodies
}

func read(t *testing.T, r *http.Request) (got body) {
	if key, _, _ := r.BasicAuth(); r.Method != http.MethodPost || r.URL.Path != "/v1/batch" || key != "shop-write-key" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
	text, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var inflated io.Reader
		if inflated, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(inflated)
		}
	}
	if err != nil || json.Unmarshal(text, &got) != nil {
		t.Errorf("%v: %s", err, text)
	}
	return got
}

// calls returns what the service makes of a batch: each call's context on top of the batch's. Times have milliseconds.
func (b *body) calls(t *testing.T) []map[string]any {
	for _, call := range b.Batch {
		at, err := time.Parse(time.RFC3339Nano, call["timestamp"].(string))
		must(t, err)
		call["timestamp"] = at.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		if time.Since(at) < time.Minute {
			call["timestamp"] = "now"
		}
		if id := call["messageId"].(string); len(id) == len("00000000-0000-0000-0000-000000000000") {
			call["messageId"] = "new"
		}
		context := map[string]any{}
		for name, value := range b.Context {
			if name != "library" {
				context[name] = value
			}
		}
		given, _ := call["context"].(map[string]any)
		for name, value := range given {
			context[name] = value
		}
		call["context"] = context
	}
	return b.Batch
}

func TestAProgramSendsTheSameCallsWhenItsImportPathIsReplaced(t *testing.T) {
	before, after := build(t, peer), build(t, ours)
	printedBefore, was := run(t, before, 200)
	printedAfter, is := run(t, after, 200)
	if printedAfter != printedBefore {
		t.Errorf("it printed\n%s\nbefore\n%s", printedAfter, printedBefore)
	}
	if len(was) != 1 || len(is) != 1 || len(was[0].Batch) != 8 {
		t.Fatalf("%d and %d requests", len(was), len(is))
	}
	wanted, got := was[0].calls(t), is[0].calls(t)
	if len(got) != len(wanted) {
		t.Fatalf("%d calls instead of %d", len(got), len(wanted))
	}
	for i := range wanted {
		if !reflect.DeepEqual(got[i], wanted[i]) {
			t.Errorf("got  %v\nwant %v", got[i], wanted[i])
		}
	}

	printedBefore, _ = run(t, before, 400)
	printedAfter, is = run(t, after, 400)
	if printedAfter != printedBefore || !strings.Contains(printedAfter, "failure track track true") {
		t.Errorf("with failures, it printed\n%s\nbefore\n%s", printedAfter, printedBefore)
	}
	if len(is) != 1 {
		t.Errorf("a refused batch was sent %d times", len(is))
	}
}

// load returns packages as they are compiled.
func load(t *testing.T, paths ...string) (loaded []*types.Package) {
	list := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, paths...)
	out, err := exec.Command("go", list...).Output()
	must(t, err)
	exports := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		path, file, _ := strings.Cut(line, "\t")
		exports[path] = file
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range paths {
		one, err := compiled.Import(path)
		must(t, err)
		loaded = append(loaded, one)
	}
	return loaded
}

// public returns the public names of a package, each with its type. Named types have their public fields with tags, and methods.
func public(within *types.Package) map[string]string {
	text := func(of types.Type) string {
		if function, isFunction := of.(*types.Signature); isFunction {
			of = types.NewSignatureType(nil, nil, nil, unnamed(function.Params()), unnamed(function.Results()), function.Variadic())
		}
		return types.TypeString(of, types.RelativeTo(within))
	}
	names := map[string]string{}
	for _, name := range within.Scope().Names() {
		object := within.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		kind := fmt.Sprintf("%T ", object)
		if _, isType := object.(*types.TypeName); !isType {
			names[name] = kind + text(object.Type())
			continue
		}
		fields, isStruct := object.Type().Underlying().(*types.Struct)
		if names[name] = kind + "struct"; !isStruct {
			names[name] = kind + text(object.Type().Underlying())
		}
		for i := 0; isStruct && i < fields.NumFields(); i++ {
			if field := fields.Field(i); field.Exported() {
				names[name+"."+field.Name()] = text(field.Type()) + " " + fields.Tag(i)
			}
		}
		methods := types.NewMethodSet(object.Type())
		for i := 0; i < methods.Len(); i++ {
			if method := methods.At(i).Obj(); method.Exported() {
				names[name+"."+method.Name()+"()"] = text(method.Type())
			}
		}
	}
	return names
}

// unnamed removes the names of parameters, which callers do not use.
func unnamed(tuple *types.Tuple) *types.Tuple {
	var variables []*types.Var
	for i := 0; i < tuple.Len(); i++ {
		variables = append(variables, types.NewVar(token.NoPos, nil, "", tuple.At(i).Type()))
	}
	return types.NewTuple(variables...)
}

func TestAllNamesOfAnalyticsGoAreThereWithTheirTypesAndNoOthers(t *testing.T) {
	packages := load(t, peer, ours)
	want, got := public(packages[0]), public(packages[1])
	if len(want) < 200 {
		t.Fatalf("only %d names were found", len(want))
	}
	for name, wanted := range want {
		if got[name] != wanted {
			t.Errorf("%s is %q instead of %q", name, got[name], wanted)
		}
	}
	for name := range got {
		if _, has := want[name]; !has {
			t.Errorf("%s is new", name)
		}
	}
}
