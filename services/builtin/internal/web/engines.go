package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	braveRoot = "https://api.search.brave.com"
	exaRoot   = "https://api.exa.ai"
)

// brave is the Web Search API of Brave: https://api-dashboard.search.brave.com/app/documentation/web-search/get-started
type brave struct {
	root *url.URL
	key  string
}

func (b brave) request(ctx context.Context, q query) (*http.Request, error) {
	v := url.Values{
		"q": {q.text}, "count": {strconv.Itoa(q.count)},
		"result_filter": {"web"}, "text_decorations": {"false"},
	}
	if q.fresh != "" {
		v.Set("freshness", "p"+q.fresh[:1]) // pd, pw, pm, py
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.root.String()+"/res/v1/web/search?"+v.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", b.key)
	return req, nil
}

func (brave) hits(body []byte) ([]hit, error) {
	var a struct {
		Type string `json:"type"`
		Web  struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
				PageAge     string `json:"page_age"`
			} `json:"results"`
		} `json:"web"` // absent if nothing was found
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	if a.Type != "search" {
		return nil, errors.New("not an answer of Brave")
	}
	var all []hit
	for _, r := range a.Web.Results {
		all = append(all, hit{r.Title, r.URL, r.Description, r.PageAge})
	}
	return all, nil
}

// told knows that Brave answers a bad key with 422.
func (brave) told(status int, body []byte) error {
	var a struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if status == http.StatusUnprocessableEntity && json.Unmarshal(body, &a) == nil && strings.HasPrefix(a.Error.Code, "SUBSCRIPTION_TOKEN") {
		return keyRefused("Brave", status)
	}
	return nil
}

// exa is the search of Exa: https://exa.ai/docs/reference/search
type exa struct {
	root *url.URL
	key  string
}

type exaQuery struct {
	Query      string `json:"query"`
	NumResults int    `json:"numResults"`
	Type       string `json:"type"`
	Since      string `json:"startPublishedDate,omitempty"`
	Contents   struct {
		Text struct {
			MaxCharacters int `json:"maxCharacters"`
		} `json:"text"`
	} `json:"contents"` // without it there are titles only
}

func (e exa) request(ctx context.Context, q query) (*http.Request, error) {
	body := exaQuery{Query: q.text, NumResults: q.count, Type: "auto"}
	body.Contents.Text.MaxCharacters = maxSnippet
	if q.since > 0 {
		body.Since = time.Now().Add(-q.since).UTC().Format(time.RFC3339)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.root.String()+"/search", bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", e.key)
	return req, nil
}

func (exa) hits(body []byte) ([]hit, error) {
	var a struct {
		Results *[]struct {
			Title         string `json:"title"`
			URL           string `json:"url"`
			Text          string `json:"text"`
			PublishedDate string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	if a.Results == nil {
		return nil, errors.New("not an answer of Exa")
	}
	var all []hit
	for _, r := range *a.Results {
		all = append(all, hit{r.Title, r.URL, r.Text, r.PublishedDate})
	}
	return all, nil
}

func (exa) told(int, []byte) error { return nil }

// searxng is an instance of SearXNG: https://docs.searxng.org/dev/search_api.html
type searxng struct{ root *url.URL }

func (s searxng) request(ctx context.Context, q query) (*http.Request, error) {
	v := url.Values{"q": {q.text}, "format": {"json"}}
	if q.fresh != "" {
		v.Set("time_range", q.fresh)
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, s.root.String()+"/search?"+v.Encode(), http.NoBody)
}

func (searxng) hits(body []byte) ([]hit, error) {
	var a struct {
		Results *[]struct {
			Title         string `json:"title"`
			URL           string `json:"url"`
			Content       string `json:"content"`
			PublishedDate string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	if a.Results == nil {
		return nil, errors.New("not an answer of SearXNG")
	}
	var all []hit
	for _, r := range *a.Results {
		all = append(all, hit{r.Title, r.URL, r.Content, r.PublishedDate})
	}
	return all, nil
}

// told knows that an instance forbids formats that its settings do not name: JSON by default.
func (searxng) told(status int, _ []byte) error {
	if status == http.StatusForbidden {
		return errors.New(`SearXNG does not answer in JSON (HTTP 403): the operator has to add "json" to search.formats of its settings`)
	}
	return nil
}
