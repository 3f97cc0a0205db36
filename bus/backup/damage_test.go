package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamaged: each kind of damage is found, its file is named, and the bus is as it was.
func TestDamaged(t *testing.T) {
	srv := newBus(t)
	in := srv.Connect(t, "intake")
	for i := range 50 {
		post(t, in, id(t, "a"), fmt.Sprint("text ", i))
	}
	target := newBus(t)
	if err := target.Connect(t, "intake").SetValue(t.Context(), "mine", []byte("as it was")); err != nil {
		t.Fatal(err)
	}
	replace := func(old, fresh string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(fresh), 1) }
	}
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte // nil: remove
		want       error
	}{
		{"a bit", journal, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, backup.ErrDamaged},
		{"cut off", "OBJ_blobs", func(b []byte) []byte { return b[:len(b)-1] }, backup.ErrDamaged},
		{"longer", subject.System, func(b []byte) []byte { return append(b, 0) }, backup.ErrDamaged},
		{"empty", "KV_settings", func([]byte) []byte { return nil }, backup.ErrDamaged},
		{"missing", subject.Timers, nil, backup.ErrDamaged},
		{"no manifest", "manifest.json", nil, backup.ErrNone},
		{"half a manifest", "manifest.json", func(b []byte) []byte { return b[:len(b)/2] }, backup.ErrDamaged},
		{"another number", "manifest.json", replace(`"messages": 50`, `"messages": 40`), backup.ErrDamaged},
		{"another stream", "manifest.json", replace(`"name": "EV"`, `"name": "../EV"`), backup.ErrDamaged},
		{"a newer format", "manifest.json", replace(`"format": 1`, `"format": 2`), backup.ErrNewer},
		{"a huge manifest", "manifest.json", func(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), 1<<20)...) }, backup.ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := save(t, srv, backup.Options{})
			path := filepath.Join(dir, c.file)
			if c.change != nil {
				edit(t, path, c.change)
			} else if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			_, err := backup.Restore(t.Context(), target.Admin(), dir, backup.Options{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("%v, want %v of %s", err, c.want, c.file)
			}
			if _, verr := backup.Verify(dir); verr == nil || err == nil || verr.Error() != err.Error() {
				t.Errorf("Verify says %v", verr)
			}
			if v, ok, err := target.Connect(t, "intake").Value(t.Context(), "mine"); !ok || err != nil || string(v) != "as it was" {
				t.Errorf("the bus was touched: %q %v %v", v, ok, err)
			}
		})
	}
	if _, err := backup.Verify(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, backup.ErrNone) {
		t.Errorf("%v", err)
	}
}

func TestRestoreRefusesEvents(t *testing.T) {
	srv := newBus(t)
	post(t, srv.Connect(t, "intake"), id(t, "a"), "hello")
	dir, _ := save(t, srv, backup.Options{})
	target := newBus(t)
	post(t, target.Connect(t, "intake"), id(t, "b"), "keep me")
	want := raw(t, target, journal, 1)
	_, err := backup.Restore(t.Context(), target.Admin(), dir, backup.Options{})
	if !errors.Is(err, backup.ErrNotEmpty) || raw(t, target, journal, 1) != want {
		t.Errorf("%v", err)
	}
	// All its events are gone, but there were some.
	if err := target.Admin().JetStream().DeleteStream(t.Context(), subject.Dead); err != nil {
		t.Fatal(err)
	}
	s, err := target.Admin().JetStream().Stream(t.Context(), journal)
	if err == nil {
		err = s.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), target.Admin(), dir, backup.Options{}); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("%v", err)
	}
}

// TestRestoreAgain: stopped at any stream, and in the middle of the journal, it can be repeated.
func TestRestoreAgain(t *testing.T) {
	srv := newBus(t)
	in := srv.Connect(t, "intake")
	noise := make([]byte, 40<<10)
	for i := range 40 { // more than a chunk
		for n := range noise {
			noise[n] = 'a' + byte((n*n+i*n+i)%26)
		}
		post(t, in, id(t, fmt.Sprint(i%3)), string(noise))
	}
	dir, _ := save(t, srv, backup.Options{})
	target := newBus(t)
	for _, at := range []string{subject.System, "KV_settings", subject.Timers, journal} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := backup.Restore(ctx, target.Admin(), dir, backup.Options{Progress: func(p backup.Progress) {
			if p.Doing == backup.Restoring && p.Stream == at {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "restore stream ") {
			t.Errorf("stopped at %s: %v", at, err)
		}
		if err := backup.Empty(t.Context(), target.Admin()); err != nil {
			t.Errorf("stopped at %s: %v", at, err)
		}
	}
	// Killed in the middle of the journal: there is a part of it, which bears the mark.
	part := jetstream.StreamConfig{Name: journal, Subjects: []string{"ev.>"}, Metadata: map[string]string{"jetclaw-restoring": "x"}}
	js := target.Admin().JetStream()
	if _, err := js.CreateStream(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "ev.a.part", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), target.Admin(), dir, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	apply(t, target)
	if n := len(events(t, target)); n != 40 {
		t.Errorf("%d events", n)
	}
	if err := backup.Empty(t.Context(), target.Admin()); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("%v", err)
	}
}
