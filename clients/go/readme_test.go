package analytics

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func readText(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestTheExamplesOfTheReadmeAreTheProgramsThatRun(t *testing.T) {
	rest := readText(t, "README.md")
	for _, path := range []string{"examples/first-call/main.go", "examples/server/main.go"} {
		var block string
		_, rest, _ = strings.Cut(rest, "```go\n")
		block, rest, _ = strings.Cut(rest, "```\n")
		if program := readText(t, path); block != program {
			t.Fatalf("the README has\n%s\nthe program is\n%s", block, program)
		}
	}
}

// example returns a command that runs an example, after change has edited its source, against this service.
func example(t *testing.T, s *service, name string, change func(string) string) *exec.Cmd {
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("examples", name, "main.go"))
	must(t, err)
	changed, overlay, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, name)
	must(t, os.WriteFile(changed, []byte(change(readText(t, source))), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, replace, 0o600))
	goTool := filepath.Join(runtime.GOROOT(), "bin", "go")
	if _, err := os.Stat(goTool); err != nil {
		goTool = "go"
	}
	if out, err := exec.Command(goTool, "build", "-overlay", overlay, "-o", program, "./examples/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), "SLUICE_ENDPOINT="+s.URL)
	return run
}

func asItIs(program string) string { return program }

func typesOf(r *request) string {
	var types []string
	for _, item := range r.items {
		types = append(types, describe(item).Type)
	}
	return strings.Join(types, " ")
}

func TestTheFirstCallArrives(t *testing.T) {
	s := newService(t, nil)
	out, err := example(t, s, "first-call", asItIs).CombinedOutput()
	if err != nil || string(out) != "sent\n" {
		t.Fatalf("%v: %s", err, out)
	}
	if got := typesOf(s.next(t)); got != "track alias identify group page screen" {
		t.Fatalf("got %s", got)
	}
}

func TestACallOfTheExampleThatIsWrongLosesNoOther(t *testing.T) {
	s := newService(t, nil)
	out, err := example(t, s, "first-call", func(program string) string {
		return strings.Replace(program, `PreviousId: "visitor-1", UserId: "u1"`, `PreviousId: "visitor-1"`, 1)
	}).CombinedOutput()
	if err != nil || !strings.Contains(string(out), ErrUserIdRequired.Code) {
		t.Fatalf("%v: %s", err, out)
	}
	if got := typesOf(s.next(t)); got != "track identify group page screen" {
		t.Fatalf("got %s", got)
	}
}

func TestTheServerOfTheExampleSendsWhatWaitsOnSIGTERM(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	must(t, listener.Close())

	s := newService(t, nil)
	run := example(t, s, "server", asItIs)
	run.Env = append(run.Env, "PORT="+port)
	var out bytes.Buffer
	run.Stderr = &out
	must(t, run.Start())
	defer func() { _ = run.Process.Kill() }()
	until(t, "it serves", func() bool {
		response, err := http.Get("http://localhost:" + port + "/welcome")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	must(t, run.Process.Signal(syscall.SIGTERM))
	if err := run.Wait(); err != nil || out.Len() > 0 {
		t.Fatalf("%v: %s", err, &out)
	}
	if len(s.requests) != 1 || typesOf(s.next(t)) != "page" {
		t.Fatal("the call of a request is lost")
	}
}

// The README must name each option and each code.
func TestTheReadmeNamesEveryFieldAndEveryCode(t *testing.T) {
	readme := readText(t, "README.md")
	for _, e := range []*Error{
		ErrWriteKeyRequired, ErrInvalidEndpoint, ErrInvalidOption, ErrNilMessage, ErrNoUserOrAnonymousId, ErrUserIdRequired, ErrPreviousIdRequired,
		ErrGroupIdRequired, ErrEventNotDefined, ErrIntegrationsAllNotBoolean, ErrIntegrationsNotObject, ErrCallTooLarge, ErrTooDeep, ErrMessageIdTooLong, ErrInvalidTimestamp,
		ErrNotSerialisable, ErrQueueFull, ErrClosed, ErrNotSent, ErrNotFlushed, ErrRejected, ErrGaveUp,
	} {
		if !strings.Contains(readme, "`"+e.Code+"`") {
			t.Errorf("%s is not in it", e.Code)
		}
	}
	for name := range declared(t) {
		member, isMember := strings.CutPrefix(name, "Client.")
		if isMember && !strings.HasSuffix(member, "Context") && !strings.Contains(readme, "`"+member+"`") {
			t.Errorf("%s is not in it", member)
		}
	}
}

func TestAllThatIsPublicIsDocumented(t *testing.T) {
	names := declared(t)
	if len(names) < 60 {
		t.Fatalf("only %d names were found", len(names))
	}
	for name, documented := range names {
		if !documented {
			t.Errorf("%s is not", name)
		}
	}
}

// declared returns the public names of the package, and whether each is documented.
func declared(t *testing.T) map[string]bool {
	paths, err := filepath.Glob("*.go")
	must(t, err)
	names := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		must(t, err)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					star, _ := d.Recv.List[0].Type.(*ast.StarExpr)
					if star == nil || !ast.IsExported(star.X.(*ast.Ident).Name) {
						continue
					}
					name = star.X.(*ast.Ident).Name + "." + name
				}
				names[name] = d.Doc != nil
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					declare(names, d, spec)
				}
			}
		}
	}
	for name := range names {
		if !ast.IsExported(name[strings.Index(name, ".")+1:]) || !ast.IsExported(name) {
			delete(names, name)
		}
	}
	return names
}

func declare(names map[string]bool, d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names[name.Name] = d.Doc != nil || spec.Doc != nil
		}
	case *ast.TypeSpec:
		names[spec.Name.Name] = d.Doc != nil
		fields, isStruct := spec.Type.(*ast.StructType)
		if !isStruct {
			return
		}
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				// the messages' fields are documented together
				names[spec.Name.Name+"."+name.Name] = field.Doc != nil || field.Comment != nil || spec.Name.Name != "Client"
			}
		}
	}
}
