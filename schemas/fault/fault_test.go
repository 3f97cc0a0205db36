package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

func TestKindOf(t *testing.T) {
	full := fault.New(fault.Full, "the journal has no room")
	for _, c := range []struct {
		err  error
		want fault.Kind
	}{
		{nil, ""},
		{errors.New("plain"), fault.Internal},
		{full, fault.Full},
		{fmt.Errorf("append x: %w", full), fault.Full},
		{fault.New(fault.Unavailable, "ask intake: %w", full), fault.Unavailable}, // the outermost speaks
		{errors.Join(io.EOF, full), fault.Full},
	} {
		if got := fault.KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}

func TestNewKeepsWhatItWraps(t *testing.T) {
	err := error(fault.New(fault.NotFound, "read %s: %w, then %w", "x", fs.ErrNotExist, io.ErrUnexpectedEOF))
	if err.Error() != "read x: file does not exist, then unexpected EOF" {
		t.Errorf("text: %s", err)
	}
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v lost what it wraps", err)
	}
}

// The form on the wire: only the kind and the text cross a border.
func TestJSON(t *testing.T) {
	data, err := json.Marshal(fault.New(fault.Busy, "later: %w", io.EOF))
	if err != nil || string(data) != `{"kind":"busy","error":"later: EOF"}` {
		t.Fatalf("%s, %v", data, err)
	}
	var back *fault.Error
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if fault.KindOf(back) != fault.Busy || back.Error() != "later: EOF" || errors.Unwrap(back) != nil {
		t.Fatalf("came back as %#v", back)
	}
}
