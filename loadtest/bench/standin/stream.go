package standin

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// stream has the events of a session behind a cursor, and then what comes. With the bug "skip" one of ten is not told.
func (d *daemon) stream(w http.ResponseWriter, r *http.Request) {
	id, err := session.New("main", "http", "default", r.PathValue("session"))
	since, perr := strconv.ParseUint(r.FormValue("since"), 10, 64)
	if err != nil || perr != nil || r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, ": stand-in\n\n")
	flush := http.NewResponseController(w)
	st, err := d.js.Stream(r.Context(), subject.Journal)
	for at := since + 1; err == nil && r.Context().Err() == nil; {
		m, gerr := st.GetMsg(r.Context(), at)
		if errors.Is(gerr, jetstream.ErrMsgNotFound) {
			err = flush.Flush()
			pace.Wait(r.Context(), 2*time.Millisecond)
			continue
		}
		if gerr != nil {
			return
		}
		at++
		e, derr := envelope.Decode(m.Subject, envelope.Header(m.Header), m.Data, m.Sequence, registry.Decode)
		if derr != nil || e.Session != id || d.bug == "skip" && at%10 == 0 {
			continue
		}
		line, lerr := envelope.LineOf(e)
		if lerr != nil {
			return
		}
		_, err = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.Cursor, line)
	}
}
