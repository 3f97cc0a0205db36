package providertest

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// cut ends each good stream at every byte, in good order and with a broken connection: what comes is the whole answer or
// none, and never another answer.
func (s Suite) cut(t *testing.T) {
	for name, good := range s.Good {
		t.Run(name, func(t *testing.T) {
			var at atomic.Int64
			var broken atomic.Bool
			m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, good.Body[:at.Load()])
				if broken.Load() {
					flush(w)
					panic(http.ErrAbortHandler)
				}
			})
			want := good.Want
			want.Usage = turnv1.Usage{} // it may come last
			whole := 0
			for _, abort := range []bool{false, true} {
				broken.Store(abort)
				for n := 0; n <= len(good.Body); n += stride {
					at.Store(int64(n))
					a, err := Generate(t.Context(), t, m, Hello())
					if err != nil {
						_ = Want(t, err, model.Garbage)
						continue
					}
					whole++
					a.Usage = turnv1.Usage{}
					if !reflect.DeepEqual(a, want) {
						t.Fatalf("cut at %d of %d: got %+v", n, len(good.Body), a)
					}
				}
			}
			if stride == 1 && (whole == 0 || whole > len(good.Body)) {
				t.Errorf("%d times whole in %d bytes", whole, len(good.Body))
			}
		})
	}
}

// split sends each good stream in two pieces, for every place between them.
func (s Suite) split(t *testing.T) {
	for name, good := range s.Good {
		t.Run(name, func(t *testing.T) {
			var at atomic.Int64
			m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, good.Body[:at.Load()])
				flush(w)
				_, _ = io.WriteString(w, good.Body[at.Load():])
			})
			for n := 0; n <= len(good.Body); n += stride {
				at.Store(int64(n))
				if a, err := Generate(t.Context(), t, m, Hello()); err != nil || !reflect.DeepEqual(a, good.Want) {
					t.Fatalf("split at %d: got %+v, %v, want %+v", n, a, err, good.Want)
				}
			}
		})
	}
}

// runes cuts a character into bytes that no longer are one: across two events, and at the end of a text.
func (s Suite) runes(t *testing.T) {
	const wave = "👋"
	first := strings.Replace(s.Text("a~"), "~", wave[:2], 1)
	second := strings.Replace(s.Text("~b"), "~", wave[2:], 1)
	for name, b := range map[string]string{"across": first + second, "at the end": first} {
		t.Run(name, func(t *testing.T) {
			a, err := Generate(t.Context(), t, s.New.Serve(t, body(s.Start+b+s.End)), Hello())
			if err != nil || !strings.HasPrefix(a.Text, "a\uFFFD") || strings.ToValidUTF8(a.Text, "") != a.Text {
				t.Errorf("got %q, %v", a.Text, err)
			}
		})
	}
}
