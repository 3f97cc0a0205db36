package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"
)

const (
	secretHeader   = "X-Telegram-Bot-Api-Secret-Token" //nolint:gosec // its name, not the secret
	maxBody        = 1 << 20                           // bytes: an update of the longest text is a tenth of it
	unread         = time.Second                       // for a body that nobody asked for: net/http waits for it before it answers
	maxConnections = 40                                // of the server to us: the Bot API's own default
	maxPast        = 1024                              // updates that are done, and known when they come again
)

// hook is a bot whose updates are sent to us. A request is answered with 200 once its update is done, and not before: all else
// has the server send it again.
//
// The server sends the updates of a chat one after the other. So an album is no one message here: its second part does not come
// before the first is taken.
type hook struct {
	*clerk
	lanes  lanes
	digest [sha256.Size]byte // of the secret: equal lengths, so that comparing tells nothing

	start   func(*item) bool // puts it into a lane for as long as Run runs; set before known is closed
	known   chan struct{}    // closed when the bot knows who it is, or will never
	refused bool             // its token is refused; set before known is closed

	mu      sync.Mutex
	updates map[int64]chan struct{} // guarded by mu; at work, or done a while ago: closed then
	past    []int64                 // guarded by mu; those that are done, oldest first
}

func newHook(b *bot) *hook {
	h := &hook{
		clerk: &clerk{bot: b}, digest: sha256.Sum256([]byte(b.Webhook.Secret)),
		known: make(chan struct{}), updates: map[int64]chan struct{}{},
	}
	h.finish = h.finished
	h.lanes = lanes{handle: h.handle}
	return h
}

// run tells the server where to send updates, and handles them until ctx ends.
func (h *hook) run(ctx context.Context) {
	defer h.api.Close()
	t := h.trouble()
	me, err := h.whoami(ctx, &t)
	h.me, h.refused = me, err != nil
	h.start = func(it *item) bool { return h.lanes.add(ctx, it) }
	close(h.known)
	if err != nil {
		return
	}
	var menu sync.WaitGroup
	menu.Go(func() { h.publish(ctx) })
	h.announce(ctx, &t)
	<-ctx.Done()
	h.lanes.close()
	h.background.Wait()
	menu.Wait()
	if h.state.get().Status != Unauthorized {
		h.state.set(Stopped)
	}
}

// announce sets the webhook: one process does, for all that serve it.
func (h *hook) announce(ctx context.Context, t *trouble) {
	wait := h.pace.retry()
	for {
		err := h.desk.Hold(ctx, h.lease(), func(ctx context.Context) error {
			for {
				err := h.api.SetWebhook(ctx, h.Webhook.URL, h.Webhook.Secret, maxConnections)
				if err == nil {
					t.end()
					h.state.set(Hooked)
					h.log.Info("telegram sends updates to the webhook", "listen", h.Webhook.Listen)
					return nil
				}
				if err := h.failed(ctx, t, err); err != nil {
					return err
				}
			}
		})
		if err == nil || errors.Is(err, errToken) || ctx.Err() != nil {
			return
		}
		h.log.Warn("the lease of a telegram bot could not be held", "error", err)
		if !pause(ctx, wait.step()) {
			return
		}
	}
}

// serve answers one request. ctx is that of Run.
func (h *hook) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(unread)) != nil {
		http.Error(w, "no deadline", http.StatusInternalServerError)
		return
	}
	secret := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case subtle.ConstantTimeCompare(secret[:], h.digest[:]) != 1:
		refuse(w, http.StatusUnauthorized)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed)
		return
	case err != nil || kind != "application/json":
		refuse(w, http.StatusUnsupportedMediaType)
		return
	case r.ContentLength > maxBody:
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	_ = control.SetReadDeadline(time.Now().Add(h.pace.Body)) // it worked a moment ago
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusRequestTimeout
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status)
		return
	}
	_ = control.SetReadDeadline(time.Time{}) // what is waited for now is not the sender
	ctx, cancel := context.WithTimeout(ctx, h.pace.Durable)
	defer cancel()
	if !h.durable(ctx, r.Context(), body) {
		http.Error(w, "not yet", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// refuse answers a request that is none, and ends its connection.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(status), status)
}

// durable has an update handled, and waits until it is done. false: it has to come again. gone is the sender's patience.
func (h *hook) durable(ctx, gone context.Context, body []byte) bool {
	select {
	case <-h.known:
	case <-ctx.Done():
		return false
	}
	if h.refused {
		return false
	}
	id, ok := numberOf(body)
	if !ok {
		sum := sha256.Sum256(body)
		return h.keep(ctx, h.key("q"+hex.EncodeToString(sum[:16])), "", body, "it has no update_id that can be read") == nil
	}
	done := h.take(id, body)
	if done == nil {
		return false
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-gone.Done():
	}
	return false
}

func numberOf(body []byte) (int64, bool) {
	var u struct {
		ID int64 `json:"update_id"`
	}
	err := json.Unmarshal(body, &u)
	return u.ID, err == nil && u.ID > 0
}

// take begins with an update, or joins those who wait for it already: the server's patience may be shorter than ours. What it
// returns is closed when the update is done; nil when nothing begins any more.
func (h *hook) take(id int64, body []byte) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if done, ok := h.updates[id]; ok {
		return done
	}
	if h.lanes.size() >= maxOpen || !h.start(newItem(id, body)) {
		return nil
	}
	h.state.saw(id)
	done := make(chan struct{})
	h.updates[id] = done
	return done
}

func (h *hook) finished(ids []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if done, ok := h.updates[id]; ok {
			close(done)
			h.past = append(h.past, id)
		}
	}
	for len(h.past) > maxPast {
		delete(h.updates, h.past[0])
		h.past = h.past[1:]
	}
}
