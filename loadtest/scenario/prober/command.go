package prober

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
)

// flags are those of the command prober.
type flags struct {
	url, tokenFile, monitor, run string
	sessions                     int
	every, patience              time.Duration
}

const monitorTime = 5 * time.Second // for a request to the prober itself

func parse(args []string, p console.Printer) (flags, error) {
	fs := p.Flags("prober")
	var f flags
	fs.StringVar(&f.url, "url", "http://127.0.0.1:7450", "the HTTP channel of the jetclaw to look at; its model has to repeat what it is told")
	fs.StringVar(&f.tokenFile, "token-file", "", "`FILE` with a bearer token for it, as keys/http.token of its home")
	fs.StringVar(&f.monitor, "monitor", "", "`ADDRESS` at which to serve /metrics and /healthz; without it nothing listens")
	fs.IntVar(&f.sessions, "sessions", 1, "that write at the same time, each one message after the other")
	fs.DurationVar(&f.every, "every", time.Second, "from one message of a session to the next, at the least")
	fs.DurationVar(&f.patience, "patience", 30*time.Second, "for a message to be accepted, for its reply, and for its events; each")
	fs.StringVar(&f.run, "run", "", "what the names of the sessions have, of [0-9a-z]; default: random")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if f.run == "" {
		f.run = "p" + strconv.FormatUint(rand.Uint64N(36*36*36*36*36*36), 36)
	}
	u, err := url.Parse(f.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return f, console.Usage(fmt.Errorf("url %q: want http://HOST:PORT", f.url))
	case f.tokenFile == "":
		return f, console.Usage(errors.New("token-file is missing: keys/http.token of the home"))
	case f.sessions < 1 || f.sessions > 1000 || f.every < 0 || f.patience <= 0:
		return f, console.Usage(errors.New("sessions are between 1 and 1000, every is not negative, patience more than 0"))
	case strings.Trim(f.run, "0123456789abcdefghijklmnopqrstuvwxyz") != "":
		return f, console.Usage(fmt.Errorf("run %q: want digits and small letters", f.run))
	}
	return f, nil
}

// Command probes until it is told to end. What it finds is a line each on stdout; that is no reason to end.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parse(args, p)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	cl := client.New(strings.TrimSuffix(f.url, "/"), strings.TrimSpace(string(token)), 2*f.sessions)
	defer cl.Close()
	pr := New(Config{
		Client: cl, Run: f.run, Sessions: f.sessions, Every: f.every, Patience: f.patience,
		Told: func(session string, attempt int, err error) {
			p.Say("%s %s message %d: %s", time.Now().UTC().Format(time.RFC3339), session, attempt, strings.ReplaceAll(err.Error(), "\n", "; "))
		},
	})
	if f.monitor != "" {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.monitor)
		if err != nil {
			return fmt.Errorf("monitor: %w", err)
		}
		web := &http.Server{Handler: monitor(pr), ReadHeaderTimeout: monitorTime, WriteTimeout: monitorTime}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = web.Serve(l) // Close ends it
		}()
		defer func() { _ = web.Close(); <-done }()
		p.Note("metrics at http://%s/metrics", l.Addr())
	}
	p.Note("probing %s in %d sessions, prober-%s-0 …", f.url, f.sessions, f.run)
	pr.Run(ctx)
	n, good := pr.Counts()
	p.Note("%d attempts, %d of them good", n, good)
	return nil
}

func monitor(pr *Prober) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		pr.Metrics(w)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	return mux
}
