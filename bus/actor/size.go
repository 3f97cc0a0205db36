package actor

import (
	"reflect"
	"time"
)

// sizeOf is about how many bytes a state takes in memory. What two parts of it share counts twice. It visits each value once: about
// 10 ns for each.
func sizeOf(state any) int {
	v := reflect.ValueOf(state)
	if !v.IsValid() {
		return 0
	}
	return int(v.Type().Size()) + behind(v, maxDepth)
}

const (
	maxDepth = 32 // states are written as JSON, so that they have no cycles; but this is no place to find out
	entryMap = 16 // what a map takes for each entry beside it
)

var typeOfTime = reflect.TypeFor[time.Time]()

// behind is what a value refers to, without the value itself.
func behind(v reflect.Value, depth int) (n int) {
	if depth == 0 {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		e := v.Elem()
		return int(e.Type().Size()) + behind(e, depth-1)
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
		if flat(v.Type().Elem()) {
			return n
		}
		for i := range v.Len() {
			n += behind(v.Index(i), depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			n += behind(v.Index(i), depth-1)
		}
	case reflect.Struct:
		if v.Type() == typeOfTime {
			return 0 // its zone is shared by all
		}
		fields := v.NumField()
		for i := range fields { // v.Fields would describe each as well
			n += behind(v.Field(i), depth-1)
		}
	case reflect.Map:
		n = v.Len() * (int(v.Type().Key().Size()+v.Type().Elem().Size()) + entryMap)
		for it := v.MapRange(); it.Next(); {
			n += behind(it.Key(), depth-1) + behind(it.Value(), depth-1)
		}
	default: // numbers have nothing behind them, and there is no way to measure a function
	}
	return n
}

// flat says that values of the type refer to nothing.
func flat(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 }
