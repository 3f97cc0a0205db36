package bus_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// TestScan: the owner of the topology, who reads a long part by a consumer, sees what everybody else sees, over gaps, too.
func TestScan(t *testing.T) {
	srv := bustest.New(t, intake)
	in, ctx := srv.Connect(t, "intake"), t.Context()
	var last uint64
	for i := range 5000 {
		c, err := in.Journal().AppendFact(ctx, envelope.Event{Session: id(t, fmt.Sprint(i%7)), Body: received(fmt.Sprint(i))}, 0)
		if err != nil {
			t.Fatal(err)
		}
		last = c
	}
	stream, err := srv.Admin().JetStream().Stream(ctx, subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []uint64{17, 2000, 2001, last} {
		if err := stream.DeleteMsg(ctx, gone); err != nil {
			t.Fatal(err)
		}
	}
	scan := func(c *bus.Conn, o bus.ReplayOptions) (all []string) {
		t.Helper()
		err := c.Scan(ctx, o, func(m bus.Raw) error {
			ev, err := c.Decode(ctx, m)
			all = append(all, fmt.Sprint(m.Cursor, ev.ID, ev.Body))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, o := range []bus.ReplayOptions{{}, {From: 5, To: 4900}, {From: 17, To: 4990}, {To: last}, {From: last}} {
		got, want := scan(srv.Admin(), o), scan(in, o)
		if !reflect.DeepEqual(got, want) || len(want) == 0 && o.From < last {
			t.Errorf("%+v: %d events, want %d", o, len(got), len(want))
		}
	}
	for _, first := range []uint64{1, 16, 18, 1999, 2002, 2003, last - 1} {
		m, err := stream.GetMsg(ctx, first)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{m.Time, m.Time.Add(-1)} {
			from, err := bus.LeaderSince(ctx, srv.Admin(), at, last)
			if err != nil {
				t.Fatal(err)
			}
			if next, err := stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(">")); err != nil || next.Sequence != first {
				t.Errorf("from the time of %d on: %d, %v", first, from, err)
			}
		}
		if from, err := bus.LeaderSince(ctx, srv.Admin(), m.Time.Add(time.Hour), last); err != nil || from < last {
			t.Errorf("from the next hour on: %d, %v", from, err)
		}
	}
	enough := errors.New("enough")
	n := 0
	if err := srv.Admin().Scan(ctx, bus.ReplayOptions{}, func(bus.Raw) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}
