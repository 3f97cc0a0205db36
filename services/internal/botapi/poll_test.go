package botapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const testToken = "123456789:AAcanary-token_of-these-tests-0123456789"

func TestNumbered(t *testing.T) {
	for name, c := range map[string]struct {
		offset int64
		list   string
		want   string // ids; with ! made up; "none"
	}{
		"nothing":                    {0, `[]`, ``},
		"in order":                   {5, `[{"update_id":5},{"update_id":6}]`, `5 6`},
		"a gap":                      {5, `[{"update_id":7},{"update_id":9}]`, `7 9`},
		"spaces":                     {5, ` [ { "update_id" : 5 } , {"update_id":6} ] `, `5 6`},
		"as a string":                {5, `[{"update_id":"5"}]`, `5`},
		"as a fraction":              {5, `[{"update_id":5.0},{"update_id":6e0}]`, `5 6`},
		"the field comes late":       {5, `[{"message":{"update_id":99,"text":"\"update_id\":98"},"update_id":5}]`, `5`},
		"only within":                {5, `[{"message":{"update_id":99}}]`, `5!`},
		"between":                    {5, `[{"update_id":5},{"x":1},{"update_id":7}]`, `5 6! 7`},
		"between, no room":           {5, `[{"update_id":5},{"x":1},{"update_id":6}]`, `5 0! 6`},
		"two between, room for one":  {5, `[{"update_id":5},{},{},{"update_id":7}]`, `5 6! 0! 7`},
		"first":                      {5, `[{"x":1},{"update_id":6}]`, `5! 6`},
		"first, no room":             {5, `[{"x":1},{"update_id":5}]`, `0! 5`},
		"first, no offset":           {0, `[{"x":1},{},{"update_id":9}]`, `7! 8! 9`},
		"first, no offset, no room":  {0, `[{"x":1},{},{"update_id":1}]`, `0! 0! 1`},
		"last":                       {5, `[{"update_id":5},{},{}]`, `5 6! 7!`},
		"all, offset":                {5, `[{},{}]`, `5! 6!`},
		"all, no offset":             {0, `[{},{}]`, `none`},
		"one, no offset":             {0, `[7]`, `none`},
		"not objects":                {5, `[null,7,"x",[1],{"update_id":9}]`, `5! 6! 7! 8! 9`},
		"no numbers":                 {5, `[{"update_id":null},{"update_id":-3},{"update_id":1.5},{"update_id":99999999999999999999},{"update_id":"x"},{"update_id":true}]`, `5! 6! 7! 8! 9! 10!`},
		"zero":                       {5, `[{"update_id":0}]`, `5!`},
		"not JSON, but in brackets":  {5, `[{"update_id":5,"message":{+!}},{"update_id":6}]`, `5 6`},
		"the server has begun anew":  {900, `[{"update_id":5},{},{"update_id":7}]`, `5 6! 7`},
		"anew, and the first broken": {900, `[{},{"update_id":7}]`, `0! 7`},
		"out of order":               {5, `[{"update_id":9},{"update_id":7},{}]`, `9 7 8!`},
		"deep":                       {5, `[{"update_id":5,"message":` + strings.Repeat(`{"a":`, 20000) + `1` + strings.Repeat(`}`, 20000) + `},{"update_id":6}]`, `5 6`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"ok":true,"result":%s}`, c.list)
			}))
			defer srv.Close()
			cl, err := New(Config{Token: testToken, APIRoot: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			got, err := cl.GetUpdates(t.Context(), c.offset, 100, 0)
			if c.want == "none" {
				if e, ok := errors.AsType[*Error](err); !ok || e.Class != Unknown {
					t.Fatalf("%v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, u := range got {
				id := fmt.Sprint(u.ID)
				if u.MadeUp {
					id += "!"
				}
				ids = append(ids, id)
			}
			if s := strings.Join(ids, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// TestNumberedProperty: none is lost, the order holds, no number is given twice, and the offset past the last number confirms
// all of a server that leaves out none.
func TestNumberedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1000).Draw(t, "first")
		fresh := rapid.Bool().Draw(t, "fresh") // nothing was polled before
		broken := rapid.SliceOfN(rapid.Bool(), 1, 100).Draw(t, "broken")
		var list []json.RawMessage
		all := true
		for i, b := range broken {
			all = all && b
			if b {
				list = append(list, json.RawMessage(`{"update_id":"?"}`))
			} else {
				list = append(list, json.RawMessage(fmt.Sprintf(`{"update_id":%d}`, first+int64(i))))
			}
		}
		offset := first
		if fresh {
			offset = 0
		}
		got, ok := numbered(list, offset)
		if !ok {
			if !fresh || !all {
				t.Fatal("not read")
			}
			return
		}
		if len(got) != len(list) {
			t.Fatalf("%d updates, want %d", len(got), len(list))
		}
		for i, u := range got {
			if u.ID != first+int64(i) || u.MadeUp != broken[i] || string(u.Data) != string(list[i]) {
				t.Fatalf("update %d is %+v", i, u)
			}
		}
	})
}

// TestUpdatesAreTheirOwn: an update that is kept does not keep the whole answer.
func TestUpdatesAreTheirOwn(t *testing.T) {
	doc := []byte(`[{"update_id":1},{"update_id":2}]`)
	list, _ := elements(doc)
	got, _ := numbered(list, 0)
	clear(doc)
	if want := (RawUpdate{ID: 2, Data: json.RawMessage(`{"update_id":2}`)}); !reflect.DeepEqual(got[1], want) {
		t.Errorf("%+v", got[1])
	}
}

// TestTimeLimits: a server that says nothing is given up at the time that is promised.
func TestTimeLimits(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(context.Context, *Client) error
		want time.Duration
	}{
		"poll": {func(ctx context.Context, c *Client) error {
			_, err := c.GetUpdates(ctx, 1, 1, 25*time.Second)
			return err
		}, 35 * time.Second},
		"short poll": {func(ctx context.Context, c *Client) error { _, err := c.GetUpdates(ctx, 1, 1, 0); return err }, 10 * time.Second},
		"long poll":  {func(ctx context.Context, c *Client) error { _, err := c.GetUpdates(ctx, 1, 1, time.Hour); return err }, time.Minute},
		"method":     {func(ctx context.Context, c *Client) error { _, err := c.GetMe(ctx); return err }, callLimit},
		"download":   {func(ctx context.Context, c *Client) error { _, err := c.Download(ctx, "a", 1); return err }, fetchLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl, err := New(Config{Token: testToken, APIRoot: "http://silent.invalid"})
				if err != nil {
					t.Fatal(err)
				}
				cl.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(theirs)) }()
					return ours, nil
				}
				start := time.Now()
				err = c.do(t.Context(), cl)
				if e, ok := errors.AsType[*Error](err); !ok || e.Class != Unknown {
					t.Errorf("got %v", err)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Error("says that the caller's time was up")
				}
				if took := time.Since(start); took != c.want {
					t.Errorf("took %s, want %s", took, c.want)
				}
			})
		})
	}
}
