// Package standin is the smallest daemon that keeps jetclaw's promises, so that scenarios are tested without the product and with a known
// bug (STANDIN_BUG). A package whose tests carry out scenarios has Main as its TestMain: its test binary is then that daemon, too.
package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// daemon is the smallest daemon that keeps the promises: one process, one goroutine a session, everything folded from
// the journal at its start. It lets the scenarios be tested without the product, and with a known bug.
type daemon struct {
	home     string
	bug      string // "", "forget" (202 without an append), "twice" (two answers) or "again" (calls have their effect twice)
	model    string
	callback string
	js       jetstream.JetStream

	mu    sync.Mutex
	lanes map[session.ID]*lane
	ready bool // the journal is folded: before that a lane would decide on a part of its past
	sent  int
}

type lane struct {
	d  *daemon
	id session.ID

	mu      sync.Mutex
	last    uint64
	texts   map[string]string // message → text
	keys    map[string]string // key → message
	inbox   []string          // unanswered messages
	orders  []order           // commands without an answer
	queue   string
	chosen  string   // model
	ended   []string // turns since the last compaction
	compact *turnv1.CompactionStarted
	claim   *turnv1.Claim     // of the turn that runs
	call    *call             // that it waits for
	replies map[string]string // message → reply
	dropped map[string]bool   // cancelled messages
	show    []deliveryv1.Ref  // what is to be pushed
	tried   bool              // the first of show may have arrived
	text    map[string]string // delivery → text
	news    chan struct{}
}

var field = regexp.MustCompile(`(base_url|listen|url): "([^"]*)"`)

func run() error {
	home := os.Getenv("JETCLAW_HOME")
	conf, err := os.ReadFile(filepath.Join(home, "jetclaw.yaml"))
	if err != nil {
		return err
	}
	d := &daemon{home: home, bug: os.Getenv("STANDIN_BUG"), lanes: map[session.ID]*lane{}}
	listen := ""
	for _, m := range field.FindAllStringSubmatch(string(conf), -1) {
		*map[string]*string{"base_url": &d.model, "listen": &listen, "url": &d.callback}[m[1]] = m[2]
	}
	if err := os.MkdirAll(filepath.Join(home, "keys"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "keys", "http.token"), []byte("secret\n"), 0o600); err != nil {
		return err
	}
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: filepath.Join(home, "data")})
	if err != nil {
		return err
	}
	srv.Start()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		return err
	}
	if d.js, err = jetstream.New(nc); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := d.open(ctx); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", d.post)
	mux.HandleFunc("GET /v1/messages/{id}/reply", d.reply)
	mux.HandleFunc("GET /events", d.events)
	mux.HandleFunc("GET /v1/sessions/{session}/events", d.stream)
	web := &http.Server{Addr: listen, Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = web.ListenAndServe() }()
	<-ctx.Done()
	_ = web.Close()
	nc.Close()
	srv.Shutdown()
	srv.WaitForShutdown()
	return nil
}

// open folds the journal and starts a lane for each session.
func (d *daemon) open(ctx context.Context) error {
	st, err := d.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: subject.Journal, Subjects: []string{subject.JournalAll}})
	if err != nil {
		return err
	}
	cons, err := st.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "turns", FilterSubject: subject.OfKind("message.received"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: 500 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	for i := uint64(1); i <= st.CachedInfo().State.LastSeq; i++ {
		m, err := st.GetMsg(ctx, i)
		if err != nil {
			return err
		}
		e, err := envelope.Decode(m.Subject, envelope.Header(m.Header), m.Data, m.Sequence, registry.Decode)
		if err != nil {
			return err
		}
		d.lane(e.Session).fold(e)
	}
	d.mu.Lock()
	d.ready = true
	for _, l := range d.lanes {
		go l.run()
	}
	d.mu.Unlock()
	_, err = cons.Consume(func(m jetstream.Msg) { _ = m.Ack() })
	return err
}

func (d *daemon) lane(id session.ID) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[id]
	if l == nil {
		l = &lane{
			d: d, id: id, texts: map[string]string{}, keys: map[string]string{}, replies: map[string]string{}, dropped: map[string]bool{},
			text: map[string]string{}, news: make(chan struct{}, 1),
		}
		d.lanes[id] = l
		if d.ready {
			go l.run()
		}
	}
	return l
}

func (l *lane) fold(e envelope.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = e.Cursor
	switch b := e.Body.(type) {
	case messagev1.Received:
		l.texts[e.ID], l.keys[e.Key] = b.Text, e.ID
		l.inbox = append(l.inbox, e.ID)
	case turnv1.Started:
		l.claim, l.call, l.compact = &b.Claim, nil, nil
	case turnv1.Continued:
		l.claim, l.call = &b.Claim, nil
	case turnv1.Resumed:
		l.claim = &b.Claim
	case turnv1.Completed:
		for _, id := range b.Answers {
			l.replies[id] = b.Text
		}
		l.inbox = slices.DeleteFunc(l.inbox, func(id string) bool { return slices.Contains(b.Answers, id) })
		l.claim = nil
		l.ended = append(l.ended, b.Turn)
		l.show = append(l.show, deliveryv1.Ref{Delivery: e.ID})
		l.text[e.ID] = b.Text
	case deliveryv1.Started:
		l.show[0].Attempt, l.tried = b.Attempt, true
	case deliveryv1.Unknown:
		l.tried = false
	case deliveryv1.Sent:
		l.show, l.tried = l.show[1:], false
	default:
		l.foldCommand(e)
	}
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// append stores and folds; the lane's appends and the intake's share the lock by trying again.
func (l *lane) append(key string, b envelope.Body) (envelope.Event, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return envelope.Event{}, err
	}
	for id := nuid.Next(); ; {
		l.mu.Lock()
		prev := l.last
		l.mu.Unlock()
		e := envelope.Event{ID: id, Session: l.id, Prev: prev, Key: key, Source: "standin/1", Time: time.Now(), Body: b}
		m := &nats.Msg{Subject: e.Subject(), Header: nats.Header(envelope.HeaderOf(e)), Data: data}
		ack, err := l.d.js.PublishMsg(context.Background(), m, jetstream.WithExpectLastSequenceForSubject(prev, subject.OfSession(l.id)))
		if err != nil {
			if strings.Contains(err.Error(), "wrong last sequence") {
				pace.Wait(context.Background(), time.Millisecond)
				continue
			}
			return envelope.Event{}, err
		}
		e.Cursor = ack.Sequence
		l.fold(e)
		return e, nil
	}
}

func (l *lane) run() {
	for range l.news {
		for l.step() {
		}
	}
}

// step does one thing, or says that there is none.
func (l *lane) step() bool {
	l.mu.Lock()
	inbox, claim, show, tried := len(l.inbox), l.claim, append([]deliveryv1.Ref(nil), l.show...), l.tried
	var call call
	if l.call != nil {
		call = *l.call
	}
	orders, compact, ended := slices.Clone(l.orders), l.compact, slices.Clone(l.ended)
	l.mu.Unlock()
	var err error
	switch {
	case len(show) > 0 && tried:
		_, err = l.append("", deliveryv1.Unknown{Ref: show[0], Resend: true})
	case len(show) > 0:
		err = l.push(show[0])
	case len(orders) > 0:
		err = l.obey(orders[0])
	case compact != nil || claim == nil && len(ended) >= turns:
		err = l.summarise(compact, ended)
	case call.done:
		err = l.goOn(*claim)
	case call.ID != "":
		err = l.calling(call)
	case claim != nil:
		c := *claim
		c.Attempt++
		if _, err = l.append("", turnv1.Resumed{Claim: c}); err == nil {
			err = l.answer(c)
		}
	case inbox > 0:
		l.mu.Lock()
		id := l.inbox[0]
		l.mu.Unlock()
		c := turnv1.Claim{Turn: id + "/t", Round: 1, Attempt: 1, Messages: []string{id}}
		if _, err = l.append("", turnv1.Started{Claim: c}); err == nil {
			err = l.answer(c)
		}
	default:
		return false
	}
	return err == nil
}

// send posts to whoever listens; there is nobody to cancel it.
func send(url, kind string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	return http.DefaultClient.Do(req)
}

func (l *lane) push(ref deliveryv1.Ref) error {
	if l.d.callback != "" {
		repeat := ref.Attempt > 0
		ref.Attempt++
		if _, err := l.append("", deliveryv1.Started{Ref: ref, Repeat: repeat}); err != nil {
			return err
		}
		l.mu.Lock()
		text := l.text[ref.Delivery]
		l.mu.Unlock()
		res, err := send(l.d.callback, "text/plain", strings.NewReader(text))
		if err != nil {
			return err
		}
		_ = res.Body.Close()
	}
	_, err := l.append("", deliveryv1.Sent{Ref: ref})
	return err
}

func (d *daemon) post(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Session string `json:"session"`
		Text    string `json:"text"`
		Key     string `json:"idempotency_key"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s, err := session.New("main", "http", "default", m.Session)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l := d.lane(s)
	l.mu.Lock()
	id := l.keys[m.Key]
	l.mu.Unlock()
	var cursor uint64
	d.mu.Lock()
	d.sent++
	forget := d.bug == "forget" && d.sent%10 == 0
	d.mu.Unlock()
	switch {
	case id != "":
	case forget:
		id = "forgotten"
	default:
		e, err := l.append(m.Key, body(m.Text))
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		id, cursor = e.ID, e.Cursor
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"message_id":"%s~%s","session":"%s","cursor":%d}`, s, id, s, cursor)
}

func (d *daemon) reply(w http.ResponseWriter, r *http.Request) {
	s, id, _ := strings.Cut(r.PathValue("id"), "~")
	l := d.lane(session.ID(s))
	for range 1000 {
		l.mu.Lock()
		_, known := l.texts[id]
		text, ok := l.replies[id]
		status := "completed"
		if l.dropped[id] {
			status = "cancelled"
		}
		l.mu.Unlock()
		switch {
		case !known:
			w.WriteHeader(http.StatusNotFound)
			return
		case ok:
			_ = json.NewEncoder(w).Encode(map[string]string{"status": status, "text": text})
			return
		}
		pace.Wait(r.Context(), 2*time.Millisecond)
	}
	_, _ = fmt.Fprint(w, `{"status":"pending"}`)
}
