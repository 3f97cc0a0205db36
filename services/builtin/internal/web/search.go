package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web/markdown"
)

// Search says who is asked.
type Search struct {
	Provider string // "": nobody, there is no tool; "brave", "exa" or "searxng"
	Key      string // of Brave or Exa
	URL      string // root of the SearXNG instance; for the others, of their API instead of the usual one
}

const (
	maxAnswer  = 2 << 20 // of a provider
	maxQuery   = 400     // characters; Brave takes no more
	maxSnippet = 600
	maxHitURL  = 2 << 10
	maxHits    = 10
	usualHits  = 5
)

// query is what is looked for.
type query struct {
	text  string
	count int
	since time.Duration // 0: whenever
	fresh string        // day, week, month, year or ""
}

// hit is one result as the provider spells it.
type hit struct{ title, url, snippet, date string }

// engine speaks with one kind of provider.
type engine interface {
	request(ctx context.Context, q query) (*http.Request, error)
	hits(body []byte) ([]hit, error)
	// told reads what a status means that the common reading gets wrong; nil for all others.
	told(status int, body []byte) error
}

// searcher runs web_search.
type searcher struct {
	name   string // of the provider, for people
	agent  string
	engine engine
	http   *http.Transport
}

// newSearcher is nil without a provider.
func newSearcher(s Search, agent string) (*searcher, error) {
	var usual string
	keyed := true
	switch s.Provider {
	case "":
		if s.Key != "" || s.URL != "" {
			return nil, errors.New("the search has a key or URL but no provider: one of brave, exa, searxng")
		}
		return nil, nil
	case "brave":
		usual = braveRoot
	case "exa":
		usual = exaRoot
	case "searxng":
		keyed = false
	default:
		return nil, fmt.Errorf("the search provider %q is none of brave, exa, searxng", s.Provider)
	}
	switch {
	case keyed && s.Key == "":
		return nil, fmt.Errorf("the search provider %s needs a key", s.Provider)
	case !keyed && s.Key != "":
		return nil, fmt.Errorf("the search provider %s takes no key", s.Provider)
	case strings.ContainsFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the search key holds a space, a control character or one beyond ASCII")
	}
	if s.URL == "" {
		s.URL = usual
	}
	root, err := searchRoot(s.URL, keyed)
	if err != nil {
		return nil, err
	}
	out := &searcher{agent: agent, http: fixedTransport(root)}
	switch s.Provider {
	case "brave":
		out.name, out.engine = "Brave", brave{root, s.Key}
	case "exa":
		out.name, out.engine = "Exa", exa{root, s.Key}
	default:
		out.name, out.engine = "SearXNG", searxng{root}
	}
	return out, nil
}

// searchRoot reads the address of a provider. Its errors do not quote it.
func searchRoot(raw string, keyed bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return nil, errors.New("the search needs the URL of its SearXNG instance")
	case err != nil:
		return nil, errors.New("the search URL cannot be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("the search URL has to begin with http:// or https:// and a host")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("the search URL holds more than a host and a path")
	case keyed && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("the search URL has to begin with https://: the key would cross the network in the clear")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || host == "localhost"
}

// fixedTransport connects to the host of root and to no other.
func fixedTransport(root *url.URL) *http.Transport {
	port := root.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[root.Scheme]
	}
	only := net.JoinHostPort(root.Hostname(), port)
	return &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 8 * time.Second}).DialContext(ctx, network, only)
		},
		TLSHandshakeTimeout:    8 * time.Second,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeader,
	}
}

type searchArgs struct {
	Query     string `json:"query"`
	Count     int    `json:"count"`
	Freshness string `json:"freshness"`
}

func (a searchArgs) query() (query, error) {
	q := query{text: strings.Join(strings.Fields(clean(a.Query)), " "), count: a.Count, fresh: a.Freshness}
	switch {
	case q.text == "":
		return q, tool.Refuse("the query is empty")
	case utf8.RuneCountInString(q.text) > maxQuery:
		return q, tool.Refuse("the query is longer than %d characters", maxQuery)
	case q.count < 0 || q.count > maxHits:
		return q, tool.Refuse("count has to lie between 1 and %d", maxHits)
	case q.count == 0:
		q.count = usualHits
	}
	const day = 24 * time.Hour
	switch a.Freshness {
	case "":
	case "day":
		q.since = day
	case "week":
		q.since = 7 * day
	case "month":
		q.since = 31 * day
	case "year":
		q.since = 366 * day
	default:
		return q, tool.Refuse("freshness has to be day, week, month or year")
	}
	return q, nil
}

func (s *searcher) run(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := tool.Read[searchArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	q, err := a.query()
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	hits, err := s.ask(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: list(hits, q.count), Untrusted: true}, nil
}

// ask makes one request. No error of it holds a word of the provider: some repeat the key.
func (s *searcher) ask(ctx context.Context, q query) ([]hit, error) {
	req, err := s.engine.request(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be sent to %s", s.name)
	}
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set("Accept", "application/json")
	res, err := s.http.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", s.name, spoken(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w", s.name, spoken(err))
	}
	if res.StatusCode != http.StatusOK {
		return nil, s.refused(res, body)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s is larger than %d MiB", s.name, maxAnswer>>20)
	}
	hits, err := s.engine.hits(body)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: is the search URL right?", s.name)
	}
	return hits, nil
}

func (s *searcher) refused(res *http.Response, body []byte) error {
	if err := s.engine.told(res.StatusCode, body); err != nil {
		return err
	}
	switch c := res.StatusCode; {
	case c == http.StatusUnauthorized, c == http.StatusForbidden:
		return keyRefused(s.name, c)
	case c == http.StatusPaymentRequired:
		return fmt.Errorf("the quota or credit at %s is used up (HTTP %d)", s.name, c)
	case c == http.StatusTooManyRequests:
		wait := "try again later"
		if d := retryAfter(res.Header); d > 0 {
			wait = fmt.Sprintf("try again in %s", d)
		}
		return fmt.Errorf("%s takes no more queries for now (HTTP %d): %s", s.name, c, wait)
	case c >= http.StatusInternalServerError, c == http.StatusRequestTimeout:
		return fmt.Errorf("%s has a problem (HTTP %d)%s", s.name, c, later(res.Header))
	case c >= http.StatusMultipleChoices && c < http.StatusBadRequest:
		return fmt.Errorf("%s redirects (HTTP %d), which is not followed: the operator has to set the search URL to where it leads", s.name, c)
	case c == http.StatusNotFound:
		return fmt.Errorf("there is no search at the URL of %s (HTTP %d): the operator has to check it", s.name, c)
	default:
		return fmt.Errorf("%s refused the query (HTTP %d)", s.name, c)
	}
}

func keyRefused(name string, status int) error {
	return fmt.Errorf("%s does not accept the key (HTTP %d): the operator has to check it", name, status)
}

// list numbers the results that have an address to go to.
func list(hits []hit, count int) string {
	var b strings.Builder
	n := 0
	for _, h := range hits {
		u, err := url.Parse(strings.TrimSpace(h.url))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(h.url) > maxHitURL {
			continue
		}
		if n++; n > count {
			break
		}
		title := plain(h.title, maxTitle)
		if title == "" {
			title = u.Host
		}
		fmt.Fprintf(&b, "%d. %s\n   %s\n", n, title, clean(strings.ReplaceAll(u.String(), " ", "%20")))
		if date, _, _ := strings.Cut(plain(h.date, 40), "T"); date != "" {
			fmt.Fprintf(&b, "   Date: %s\n", date)
		}
		if s := plain(h.snippet, maxSnippet); s != "" {
			fmt.Fprintf(&b, "   %s\n", s)
		}
	}
	if n == 0 {
		return "Nothing was found."
	}
	return strings.TrimRight(b.String(), "\n")
}

// plain is a piece of HTML or text on one line.
func plain(s string, limit int) string {
	return clip(strings.Join(strings.Fields(clean(markdown.Plain(clip(s, 16<<10)))), " "), limit)
}
