package analytics

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func readVectors[T any](t *testing.T, name string) (vectors []T) {
	text, err := os.ReadFile("../../test/vectors/" + name)
	must(t, err)
	must(t, json.Unmarshal(text, &vectors))
	if len(vectors) == 0 {
		t.Fatal("there are no vectors")
	}
	return vectors
}

type callVector struct {
	Name, Only, Error, JSON string
	Call                    map[string]any
	Pad                     *struct {
		Path  string
		Bytes int
	}
}

func TestACallIsWrittenAsByAllLibraries(t *testing.T) {
	for _, v := range readVectors[callVector](t, "calls.json") {
		if v.Only != "" && v.Only != "go" {
			continue
		}
		v := v
		t.Run(v.Name, func(t *testing.T) {
			if v.Pad != nil {
				v.pad(t)
			}
			message := v.message(t)
			text, err := encodeOne(&message)
			switch {
			case v.Error == "" && err != nil:
				t.Fatal(err)
			case v.Error == "" && text != v.JSON:
				t.Fatalf("got  %s\nwant %s", text, v.JSON)
			case v.Error != "" && (err == nil || err.Code != v.Error):
				t.Fatalf("got %v, want %s", err, v.Error)
			}
		})
	}
}

// encodeOne does what a client does before it queues a call.
func encodeOne(message *call) (string, *Error) {
	if err := message.check(); err != nil {
		return "", err
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	text, err := e.encode(message, time.Now())
	return string(text), err
}

// message makes one of the public types from the fields of a vector.
func (v *callVector) message(t *testing.T) call {
	kind := v.Call["type"].(string)
	message, known := map[string]interface{ call() call }{
		"identify": &Identify{}, "track": &Track{}, "page": &Page{}, "screen": &Screen{}, "group": &Group{}, "alias": &Alias{},
	}[kind]
	if !known {
		t.Fatalf("there is no %s", kind)
	}
	for name, value := range v.Call {
		if name == "type" {
			continue
		}
		field := reflect.ValueOf(message).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
		if !field.IsValid() {
			t.Fatalf("%s has no %s", kind, name)
		}
		field.Set(reflect.ValueOf(value))
	}
	return message.call()
}

// pad extends the text at its path in call and JSON until the item has the given size.
func (v *callVector) pad(t *testing.T) {
	path := strings.Split(v.Pad.Path, ".")
	inner := v.Call
	for _, key := range path[:len(path)-1] {
		inner = inner[key].(map[string]any)
	}
	last := path[len(path)-1]
	unpadded, _ := json.Marshal(v.Call)
	if v.JSON != "" {
		unpadded = []byte(v.JSON)
	} else if message := v.message(t); true {
		text, err := encodeOne(&message)
		if err != nil {
			t.Fatal(err)
		}
		unpadded = []byte(text)
	}
	inner[last] = strings.Repeat("x", v.Pad.Bytes-len(unpadded))
	v.JSON = strings.Replace(v.JSON, `"`+last+`":""`, `"`+last+`":"`+inner[last].(string)+`"`, 1)
}

type batchVector struct {
	Name, Only string
	FlushAt    int
	Sizes      []int
	Batches    [][]int
}

func TestAQueueIsSplitAsByAllLibraries(t *testing.T) {
	for _, v := range readVectors[batchVector](t, "batches.json") {
		if v.Only != "" && v.Only != "go" {
			continue
		}
		v := v
		t.Run(v.Name, func(t *testing.T) {
			most := batchCalls
			if v.FlushAt == 1 {
				most = 1
			}
			if got := split(t, v.Sizes, most); len(got)+len(v.Batches) > 0 && !reflect.DeepEqual(got, v.Batches) {
				t.Fatalf("got %v, want %v", got, v.Batches)
			}
		})
	}
}
