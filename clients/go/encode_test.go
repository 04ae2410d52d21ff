package analytics

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("at the worst moment") }

type fails struct{}

var errOfItsOwn = errors.New("not today")

func (fails) MarshalJSON() ([]byte, error) { return nil, errOfItsOwn }

func track(properties map[string]any) *call {
	return &call{kind: "track", userId: "u1", event: "Opened", messageId: "m", timestamp: "2026-01-02", properties: properties}
}

func TestWhatJSONDoesNotHaveIsRefusedWithItsPlace(t *testing.T) {
	type ring struct{ Next *ring }
	cycle := &ring{}
	cycle.Next = cycle
	for _, test := range []struct {
		name, path string
		properties map[string]any
	}{
		{"NaN", "properties.a", map[string]any{"a": math.NaN()}},
		{"infinity", "properties.a.b", map[string]any{"a": map[string]any{"b": math.Inf(-1)}}},
		{"a float32 that is none", "properties.a", map[string]any{"a": float32(math.Inf(1))}},
		{"a channel", "properties.a.1", map[string]any{"a": []any{1, make(chan int)}}},
		{"a function", "properties.a", map[string]any{"a": func() {}}},
		{"a complex number", "properties.a", map[string]any{"a": 1i}},
		{"a MarshalJSON that panics", "properties.a", map[string]any{"a": panics{}}},
		{"a MarshalJSON that fails", "properties.a", map[string]any{"a": fails{}}},
		{"a struct that points to itself", "properties.a", map[string]any{"a": cycle}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := encodeOne(track(test.properties))
			if !errors.Is(err, ErrNotSerialisable) || err.Err == nil || !strings.HasPrefix(err.Message, test.path) {
				t.Fatalf("got %v", err)
			}
		})
	}
	if _, err := encodeOne(track(map[string]any{"a": fails{}})); !errors.Is(err, errOfItsOwn) {
		t.Fatal("the cause is not wrapped")
	}
	if text, err := encodeOne(track(map[string]any{"a": 1})); err != nil || !strings.HasSuffix(text, `"properties":{"a":1}}`) {
		t.Fatalf("after all that: %s, %v", text, err)
	}
}

func nested(levels int) map[string]any {
	m := map[string]any{}
	for i := 1; i < levels; i++ {
		m = map[string]any{"a": m}
	}
	return m
}

func TestACallHas64LevelsAtMost(t *testing.T) {
	type box struct{ Inner any }
	twice := map[string]any{"a": 1}
	for _, test := range []struct {
		name       string
		properties map[string]any
		want       *Error
	}{
		{"64 in maps", nested(63), nil},
		{"65 in maps", nested(64), ErrTooDeep},
		{"65 beside a map that is there twice", map[string]any{"a": twice, "b": twice, "c": nested(63)}, ErrTooDeep},
		{"64 with a struct", map[string]any{"a": box{Inner: nested(61)}}, nil},
		{"65 with a struct", map[string]any{"a": box{Inner: nested(62)}}, ErrTooDeep},
		{"3 with a text of brackets", map[string]any{"a": box{Inner: strings.Repeat(`[{"\`, 100)}}, nil},
	} {
		_, err := encodeOne(track(test.properties))
		if (err == nil) != (test.want == nil) || err != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

func TestWhatRefersToItselfIsRefusedWithItsPlace(t *testing.T) {
	cycle, list := map[string]any{"a": 1}, []any{nil, nil}
	cycle["b"], cycle["c"] = []any{cycle}, cycle
	list[0], list[1] = list, list
	wide := map[string]any{"a": strings.Repeat("x", callBytes)}
	wide["b"] = wide
	inner := map[string]any{}
	inner["up"] = []any{1, inner}
	for _, test := range []struct {
		name, want string
		properties map[string]any
	}{
		{"a map", "properties refers to itself, as properties.b.0", cycle},
		{"a list", "properties.x refers to itself, as properties.x.0", map[string]any{"x": list}},
		{"a map that is too large", "properties refers to itself, as properties.b", wide},
		{"an inner one", "properties.x.1 refers to itself, as properties.x.1.up.1", map[string]any{"x": []any{nil, inner}}},
	} {
		if _, err := encodeOne(track(test.properties)); !errors.Is(err, ErrNotSerialisable) || err.Message != test.want {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

type verbatim string

func (v verbatim) MarshalJSON() ([]byte, error) { return []byte(v), nil }

func TestWhatIsJSONAlreadyIsEscapedAsOtherTexts(t *testing.T) {
	for given, want := range map[string]string{
		"{\"a\u2028b\":\"\u2029\"}": `{"a\u2028b":"\u2029"}`,
		"[\"\xff\", \"é\xe2\x80\"]": `["\ufffd","é\ufffd\ufffd"]`,
		`"\u2028\ud800"`:            `"\u2028\ud800"`,
		"[\"é<&>😀\ufffd\"]":         "[\"é<&>😀\ufffd\"]",
	} {
		for _, value := range []any{json.RawMessage(given), verbatim(given)} {
			got, err := encodeOne(track(map[string]any{"a": 1, "v": value, "w": "end"}))
			if err != nil || !strings.HasSuffix(got, `"properties":{"a":1,"v":`+want+`,"w":"end"}}`) || !utf8.ValidString(got) {
				t.Errorf("%q: got %s, %v", given, got, err)
			}
		}
	}
}

func TestAMapThatIsInManyPlacesIsNoCycleAndEndsInTime(t *testing.T) {
	m := map[string]any{"leaf": true}
	twice := map[string]any{"a": m, "b": []any{m, m}}
	if _, err := encodeOne(track(twice)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 50; i++ {
		m = map[string]any{"a": m, "b": m}
	}
	if _, err := encodeOne(track(m)); !errors.Is(err, ErrCallTooLarge) {
		t.Fatalf("got %v", err)
	}
}

func TestTheTextOfTooLargeACallNamesSizeAndLimit(t *testing.T) {
	_, err := encodeOne(track(map[string]any{"a": strings.Repeat("x", callBytes)}))
	if err == nil || !strings.Contains(err.Error(), "32878") || !strings.Contains(err.Error(), "32768") {
		t.Fatalf("got %v", err)
	}
}

func TestWhatIsNotGivenIsMade(t *testing.T) {
	now := time.Date(2026, 1, 2, 5, 4, 5, 678_912_345, time.FixedZone("", 7200))
	e := encoders.Get().(*encoder)
	text, err := e.encode(&call{kind: "page", userId: "u1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ MessageId, Timestamp string }
	must(t, json.Unmarshal(text, &got))
	if got.Timestamp != "2026-01-02T03:04:05.678Z" || len(got.MessageId) != 36 {
		t.Fatalf("got %s", text)
	}
}

func TestTheCallersMapsAreNeitherChangedNorKept(t *testing.T) {
	properties := map[string]any{"b": []any{3, 1}, "a": "x"}
	first, _ := encodeOne(track(properties))
	if !reflect.DeepEqual(properties, map[string]any{"b": []any{3, 1}, "a": "x"}) {
		t.Fatalf("changed: %v", properties)
	}
	properties["a"] = "y"
	if second, _ := encodeOne(track(properties)); first == second || !strings.Contains(first, `"x"`) {
		t.Fatalf("kept: %s, %s", first, second)
	}
}

// values of all kinds in maps.
func TestValuesAreWrittenAsByEncodingJSON(t *testing.T) {
	type named string
	text, number := "x", 7
	var missing *int
	for _, value := range []any{
		nil, true, false, "", "x", 0, -1, int8(-8), int16(-16), int32(-32), int64(math.MinInt64),
		uint(1), uint8(8), uint16(16), uint32(32), uint64(math.MaxUint64),
		0.0, math.Copysign(0, -1), 0.1, 1e20, 1e21, 1e-6, 9.99e-7, 1e-7, 1.5e-10, 1e100, -1e-300, math.MaxFloat64, math.SmallestNonzeroFloat64, 100.0,
		float32(0.1), float32(1e21), float32(1e-7), float32(16777216), float32(math.MaxFloat32),
		json.Number("12.50"), json.RawMessage(`{ "a" : [1, 2] }`), time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Second,
		map[string]any(nil), map[string]any{}, []any(nil), []any{}, []any{1, "a", nil, []any{}, map[string]any{"<": ">"}},
		[]string{"a", "\u2028"}, map[string]string{"b": "1", "a": "2"}, map[int]bool{2: true, 10: false}, []byte("bytes"), [2]int{1, 2},
		&text, &number, missing, named("<n>"), struct {
			B int `json:"b,omitempty"`
			A named
		}{A: "&"},
		map[string]any{"z": 1, "a": map[string]any{"y": 2, "b": map[string]any{"x": 3, "c": 4}, "d": 5}, "é": 6, "": 7, "Z": 8},
	} {
		sameAsEncodingJSON(t, value)
	}
}

func sameAsEncodingJSON(t testing.TB, value any) {
	t.Helper()
	got, err := encodeOne(track(map[string]any{"v": value}))
	if err != nil {
		t.Errorf("%#v: %v", value, err)
		return
	}
	want := new(bytes.Buffer)
	want.WriteString(`{"type":"track","messageId":"m","timestamp":"2026-01-02","userId":"u1","event":"Opened","properties":`)
	e := json.NewEncoder(want)
	e.SetEscapeHTML(false)
	must(t, e.Encode(map[string]any{"v": value}))
	want.Truncate(want.Len() - 1)
	want.WriteByte('}')
	if got != shortEscapes(want.String()) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// shortEscapes does what encoding/json does since Go 1.22.
func shortEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			b.WriteByte(text[i])
			continue
		case strings.HasPrefix(text[i:], `\u0008`):
			b.WriteString(`\b`)
			i += 5
		case strings.HasPrefix(text[i:], `\u000c`):
			b.WriteString(`\f`)
			i += 5
		default:
			b.WriteString(text[i : i+2])
			i++
		}
	}
	return b.String()
}

func FuzzEncode(f *testing.F) {
	f.Add("u1", "Opened", "key", "text", 1.5, []byte(`{"a":[1,{"b":null}],"c":"\u2028"}`))
	f.Add("\xff", "\x00\b\f\x7f", "<&>", "\u2028\U0001f600", 1e-7, []byte(`[[[[]]]]`))
	f.Add("", "", "", "", math.NaN(), []byte(`{"":"","x":1e400}`))
	f.Add("u1", strings.Repeat("x", 32700), "k", "v", 0.0, []byte(`"\""`))
	f.Fuzz(func(t *testing.T, userId, event, key, text string, number float64, blob []byte) {
		var value any
		if json.Unmarshal(blob, &value) != nil {
			value = string(blob)
		}
		properties := map[string]any{key: text, "number": number, "value": value, text: []any{key, value, number}}
		message := (&Track{UserId: userId, Event: event, Properties: properties, Context: map[string]any{key: userId}}).call()
		got, err := encodeOne(&message)
		if err != nil {
			checkRefusal(t, &message, err)
			return
		}
		if len(got) > callBytes || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		var read struct {
			Type, UserId, Event string
			Properties, Context map[string]any
		}
		must(t, json.Unmarshal([]byte(got), &read))
		if read.Type != "track" || read.UserId != strings.ToValidUTF8(userId, "\ufffd") && utf8.ValidString(userId) {
			t.Fatalf("got %s", got)
		}
		if utf8.ValidString(event) && read.Event != event {
			t.Fatalf("%q became %q", event, read.Event)
		}
		for _, m := range []struct{ given, read map[string]any }{{properties, read.Properties}, {message.context, read.Context}} {
			reference, err := json.Marshal(m.given)
			must(t, err)
			var want map[string]any
			must(t, json.Unmarshal(reference, &want))
			if !reflect.DeepEqual(m.read, want) {
				t.Fatalf("got %v, want %v", m.read, want)
			}
		}
		if len(got) < callBytes/4 {
			sameAsEncodingJSON(t, properties)
		}
	})
}

// checkRefusal checks that a rejected call is invalid.
func checkRefusal(t *testing.T, message *call, err *Error) {
	reference, cause := json.Marshal(message.properties)
	switch err.Code {
	case "no_user_or_anonymous_id":
		if message.userId != "" {
			t.Fatal(err)
		}
	case "event_not_defined":
		if message.event != "" {
			t.Fatal(err)
		}
	case "call_too_large":
		// only HTML escapes make the output of encoding/json longer
		if len(reference)+6*len(message.event)+7*len(message.userId) < callBytes/2 {
			t.Fatal(err)
		}
	case "not_serialisable":
		if cause == nil {
			t.Fatal(err)
		}
	case "too_deep":
		if levels(reference) < callLevels {
			t.Fatal(err)
		}
	default:
		t.Fatal(err)
	}
}
