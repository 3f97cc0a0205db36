package floor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// AppendCommand runs this program as the child that appends: Appends on stdin, Appended on stdout.
const AppendCommand = "floor-append"

// Appends is a number of events to append, and nothing else: nobody is rung.
type Appends struct {
	Sync     string `json:"sync"` // "always" or "interval"
	Sessions int    `json:"sessions"`
	Events   int    `json:"events"`
	AtOnce   int    `json:"at_once"` // appends that wait for the server; those of one session follow one another
	Step     Step   `json:"step"`    // kind and size of each
}

// Appended is what came of it.
type Appended struct {
	Took      time.Duration `json:"took_ns"`
	PerSecond float64       `json:"per_second"`
}

// Append has a child of this program append.
func Append(ctx context.Context, a Appends) (Appended, error) {
	return ask[Appended](ctx, AppendCommand, a)
}

// ServeAppend is the child's side of Append.
func ServeAppend(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, RunAppends)
}

// RunAppends appends in this process, by compare-and-set as the product does.
func RunAppends(ctx context.Context, a Appends) (Appended, error) {
	if a.Sessions < 1 || a.Events < 1 || a.AtOnce < 1 {
		return Appended{}, fmt.Errorf("floor: nothing to append in %+v", a)
	}
	dir, err := os.MkdirTemp("", "jetclaw-floor-")
	if err != nil {
		return Appended{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	srv, err := server.NewServer(&server.Options{
		ServerName: "floor", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: a.Sync == "always",
	})
	if err != nil {
		return Appended{}, fmt.Errorf("floor: %w", err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	f := &bus{job: Job{Shape: Shape{Steps: []Step{a.Step}}}, ctx: ctx}
	if err := f.connect(srv); err != nil {
		return Appended{}, fmt.Errorf("floor: %w", err)
	}
	defer f.close()
	began := time.Now()
	if err := f.all(a); err != nil {
		return Appended{}, err
	}
	took := time.Since(began)
	return Appended{Took: took, PerSecond: float64(a.Events) / took.Seconds()}, nil
}

// all appends the events of each session one after the other, and those of some sessions at the same time.
func (f *bus) all(a Appends) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	room := make(chan struct{}, a.AtOnce)
	for i := range a.Sessions {
		wg.Go(func() {
			l, err := f.lane(i, 0)
			for n := i; err == nil && n < a.Events; n += a.Sessions {
				room <- struct{}{}
				err = f.append(f.js, l, strconv.Itoa(n), 0)
				<-room
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
