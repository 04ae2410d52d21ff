package analytics

import "reflect"

// holdsItself reports whether a map or list lies within itself, so that it can never be written. It looks at those
// types alone that appendValue goes into; encoding/json sees the cycles of others.
func holdsItself(value any) bool {
	return walk{}.findsCycle(value)
}

// walk knows the maps and lists that were seen: true while what is within them is looked at, false afterwards.
type walk map[container]bool

type container struct {
	at     uintptr
	length int // two lists of one array may begin at one place
}

func (w walk) findsCycle(value any) bool {
	var inner container
	switch v := value.(type) {
	case map[string]any:
		inner = container{at: reflect.ValueOf(v).Pointer(), length: -1}
	case []any:
		inner = container{at: reflect.ValueOf(v).Pointer(), length: len(v)}
	default:
		return false
	}
	if open, seen := w[inner]; seen {
		return open
	}
	w[inner] = true
	found := w.findsCycleWithin(value)
	w[inner] = false
	return found
}

func (w walk) findsCycleWithin(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, within := range v {
			if w.findsCycle(within) {
				return true
			}
		}
	case []any:
		for _, within := range v {
			if w.findsCycle(within) {
				return true
			}
		}
	}
	return false
}
