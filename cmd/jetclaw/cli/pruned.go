package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
)

// pruneReport tells what `sessions prune` would do, or did.
type pruneReport struct {
	shell   *shell
	json    bool
	planned *retention.Plan
	folder  string
	results []retention.Result
}

// prunedAll is what `sessions prune --json` prints.
type prunedAll struct {
	DryRun   bool            `json:"dry_run"`
	Archive  string          `json:"archive"` // folder
	Sessions []prunedSession `json:"sessions"`
	Kept     []keptSession   `json:"kept"`
	Total    prunedTotal     `json:"total"`
	Journal  int64           `json:"journal_bytes"`             // before
	After    *int64          `json:"journal_bytes_after_about"` // null when it was no dry run
}

type prunedSession struct {
	Session string     `json:"session"`
	Last    *time.Time `json:"last,omitempty"` // when something last happened in it
	Events  int        `json:"events"`
	Bytes   int64      `json:"bytes_about,omitempty"`
	File    string     `json:"file,omitempty"`
	Again   bool       `json:"resumed,omitempty"` // it was archived and deleted by an earlier run, which did not come to its end
}

type keptSession struct {
	Session string `json:"session"`
	Why     string `json:"why"`
}

type prunedTotal struct {
	Sessions int   `json:"sessions"`
	Events   int   `json:"events"`
	Bytes    int64 `json:"bytes_about"`
}

func (t *prunedTotal) add(s prunedSession) {
	t.Sessions++
	t.Events += s.Events
	t.Bytes += s.Bytes
}

// plan is what would be done.
func (r *pruneReport) plan() prunedAll {
	a := r.all()
	a.DryRun, a.After = true, &r.planned.After
	for _, l := range r.planned.Leftovers {
		a.Sessions = append(a.Sessions, prunedSession{Session: string(l.Session), Events: l.Events, Again: true})
	}
	for _, c := range r.planned.Candidates {
		a.Sessions = append(a.Sessions, prunedSession{Session: string(c.Session), Last: &c.At, Events: c.Events, Bytes: c.Bytes})
	}
	for _, s := range a.Sessions {
		a.Total.add(s)
	}
	return a
}

func (r *pruneReport) all() prunedAll {
	a := prunedAll{Archive: r.folder, Sessions: []prunedSession{}, Kept: []keptSession{}, Journal: r.planned.Bytes}
	for _, k := range r.planned.Kept {
		a.Kept = append(a.Kept, keptSession{string(k.Session), k.Why})
	}
	return a
}

func (r *pruneReport) dryRun() error {
	if r.json {
		return json.NewEncoder(r.shell.out).Encode(r.plan())
	}
	if err := r.show(r.shell.out); err != nil {
		return err
	}
	r.kept(r.plan().Kept)
	return nil
}

// show prints the plan as a table.
func (r *pruneReport) show(out io.Writer) error {
	a := r.plan()
	if len(a.Sessions) == 0 {
		_, err := fmt.Fprintln(out, "no session is to go")
		return err
	}
	t := columns{right: []bool{false, false, true, true}}
	t.row("session", "last activity", "events", "bytes, about")
	for _, s := range a.Sessions {
		last, bytes := "archived by an earlier run", ""
		if s.Last != nil {
			last, bytes = s.Last.Local().Format(time.DateTime), strconv.FormatInt(s.Bytes, 10)
		}
		t.row(s.Session, last, strconv.Itoa(s.Events), bytes)
	}
	t.row("total of "+sessions(a.Total.Sessions), "", strconv.Itoa(a.Total.Events), strconv.FormatInt(a.Total.Bytes, 10))
	if err := t.print(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "the journal has %d bytes, about %d after that\n", a.Journal, *a.After)
	return err
}

func sessions(n int) string {
	if n == 1 {
		return "1 session"
	}
	return strconv.Itoa(n) + " sessions"
}

// kept tells why sessions stay that are dormant.
func (r *pruneReport) kept(list []keptSession) {
	for _, k := range list {
		fmt.Fprintf(r.shell.err, "note: %s stays: %s\n", k.Session, flat(k.Why))
	}
}

// add tells one result.
func (r *pruneReport) add(res retention.Result) {
	r.results = append(r.results, res)
	switch {
	case r.json:
	case res.Skipped != "":
		r.kept([]keptSession{{string(res.Session), res.Skipped}})
	case res.Again && res.Archive == "":
		fmt.Fprintf(r.shell.out, "%s: %d events removed, which an earlier run had archived\n", res.Session, res.Events)
	default:
		fmt.Fprintf(r.shell.out, "%s: %d events to %s\n", res.Session, res.Events, res.Archive)
	}
}

// end tells the total.
func (r *pruneReport) end() error {
	a := r.all()
	for _, res := range r.results {
		if res.Skipped != "" {
			a.Kept = append(a.Kept, keptSession{string(res.Session), res.Skipped})
			continue
		}
		s := prunedSession{Session: string(res.Session), Events: res.Events, Bytes: res.Bytes, File: res.Archive, Again: res.Again}
		a.Sessions = append(a.Sessions, s)
		a.Total.add(s)
	}
	if r.json {
		return json.NewEncoder(r.shell.out).Encode(a)
	}
	r.kept(a.Kept[:len(r.planned.Kept)]) // the others were told
	if a.Total.Sessions == 0 {
		_, err := fmt.Fprintln(r.shell.out, "no session has gone")
		return err
	}
	_, err := fmt.Fprintf(r.shell.out, "%s with %d events, about %d bytes, archived in %s\n",
		sessions(a.Total.Sessions), a.Total.Events, a.Total.Bytes, r.folder)
	return err
}
