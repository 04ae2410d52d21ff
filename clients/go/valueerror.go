package analytics

import (
	"reflect"
	"slices"
	"strings"
)

// valueError says where in a call something is that cannot be written. Both lists are from the inside out.
type valueError struct {
	keys    []string
	holders []holder // that have these keys, but for the outermost, a field of the call
	cause   error
}

// holder is a map or a list, as it can be told from others.
type holder struct {
	at     uintptr
	length int
}

func (e *valueError) Error() string { return e.cause.Error() }

// at adds the key under which err came up, and the map or list that has it, if one has.
func at(key string, err error, holders ...any) error {
	within, ok := err.(*valueError)
	if !ok {
		within = &valueError{cause: err}
	}
	within.keys = append(within.keys, key)
	for _, each := range holders {
		v := reflect.ValueOf(each)
		within.holders = append(within.holders, holder{v.Pointer(), v.Len()})
	}
	return within
}

// path of the value that is so many keys further in than the call.
func (e *valueError) path(keys int) string {
	path := slices.Clone(e.keys[len(e.keys)-keys:])
	slices.Reverse(path)
	return strings.Join(path, ".")
}

// circle returns where a map or a list is that is inside of itself, and where it comes again; nothing when there is none on the way to
// what could not be written. It costs nothing where no error is.
func (e *valueError) circle() (first, again string, found bool) {
	last := len(e.holders) - 1
	for depth := 1; depth <= last; depth++ {
		for outer := 0; outer < depth; outer++ {
			if e.holders[last-depth] == e.holders[last-outer] {
				return e.path(outer + 1), e.path(depth + 1), true
			}
		}
	}
	return "", "", false
}
