package analytics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func readText(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestTheExampleOfTheReadmeIsTheProgramThatRuns(t *testing.T) {
	_, block, _ := strings.Cut(readText(t, "README.md"), "```go\n")
	block, _, _ = strings.Cut(block, "```\n")
	if program := readText(t, "examples/first-call/main.go"); block != program {
		t.Fatalf("the README has\n%s\nthe program is\n%s", block, program)
	}
}

func TestTheFirstCallArrives(t *testing.T) {
	s := newService(t, nil)
	program := filepath.Join(t.TempDir(), "first-call")
	goTool := filepath.Join(runtime.GOROOT(), "bin", "go")
	if _, err := os.Stat(goTool); err != nil {
		goTool = "go"
	}
	if out, err := exec.Command(goTool, "build", "-o", program, "./examples/first-call").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), "SLUICE_ENDPOINT="+s.URL)
	out, err := run.CombinedOutput()
	if err != nil || string(out) != "sent\n" {
		t.Fatalf("%v: %s", err, out)
	}
	var types []string
	for _, item := range s.next(t).items {
		types = append(types, describe(item).Type)
	}
	if got := strings.Join(types, " "); got != "track alias identify group page" {
		t.Fatalf("got %s", got)
	}
}

// The README names each option and each code, so that none can be added without it.
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

// declared has the public names of the package, with whether each is documented.
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
				// the messages' fields are described together
				names[spec.Name.Name+"."+name.Name] = field.Doc != nil || field.Comment != nil || spec.Name.Name != "Client"
			}
		}
	}
}
