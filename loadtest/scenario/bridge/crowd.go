package bridge

import (
	"context"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// crowded is a server over HTTP with many sessions, each of which has a stream open for what it may be told.
type crowded struct {
	Sessions int           `json:"sessions"`
	Took     time.Duration `json:"open_ns"` // until all were open
	RSS      int64         `json:"rss_bytes"`
	With     int64         `json:"rss_with_bytes"`
	After    int64         `json:"rss_after_bytes"` // all are closed
	// The same once more: what grows is never given back.
	Again      int64 `json:"rss_again_bytes"`
	AfterAgain int64 `json:"rss_after_again_bytes"`
	Files      int   `json:"files"` // descriptors of the server
	FilesWith  int   `json:"files_with"`
	FilesAfter int   `json:"files_after"` // after all of it
}

const (
	closePatience = 10 * time.Second
	closePoll     = 50 * time.Millisecond
)

func (x *bridged) crowd(ctx context.Context, r *report) error {
	n := x.f.crowd
	x.P.Note("%d sessions over HTTP, twice", n)
	served, w, err := x.mcp.OverHTTP(ctx)
	if err != nil {
		return err
	}
	defer served.Kill()
	c := &crowded{Sessions: n}
	pace.Wait(ctx, x.f.calm)
	if c.RSS, err = served.RSS(); err != nil {
		return err
	}
	if c.Files, err = served.Files(); err != nil {
		return err
	}
	for _, into := range []struct{ with, after *int64 }{{&c.With, &c.After}, {&c.Again, &c.AfterAgain}} {
		began := time.Now()
		all, err := w.Open(ctx, n)
		if err != nil {
			return err
		}
		c.Took = time.Since(began)
		pace.Wait(ctx, x.f.calm)
		*into.with, err = served.RSS()
		if err == nil {
			c.FilesWith, err = served.Files()
		}
		if shut := w.Shut(ctx, all); err == nil {
			err = shut
		}
		if err != nil {
			return err
		}
		if c.FilesAfter, err = emptied(ctx, served, c.Files); err != nil {
			return err
		}
		pace.Wait(ctx, x.f.calm)
		if *into.after, err = served.RSS(); err != nil {
			return err
		}
	}
	r.Crowd = c
	return served.Stop(bench.StopTime)
}

// emptied waits until a server has no more descriptors than before, or patience has ended.
func emptied(ctx context.Context, s *daemon.Served, before int) (int, error) {
	for began := time.Now(); ; {
		n, err := s.Files()
		if err != nil || n <= before || time.Since(began) > closePatience || !pace.Wait(ctx, closePoll) {
			return n, err
		}
	}
}
