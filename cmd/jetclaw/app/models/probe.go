package models

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Local is a server that may run on this machine.
type Local struct {
	Name    string // "ollama"
	BaseURL string
}

// LocalServers are looked for in this order.
func LocalServers() []Local {
	return []Local{
		{"ollama", "http://127.0.0.1:11434/v1"},
		{"llamacpp", "http://127.0.0.1:8080/v1"},
		{"lmstudio", "http://127.0.0.1:1234/v1"},
	}
}

const (
	probeTime = 150 * time.Millisecond // for all local servers together
	listTime  = 2 * time.Second        // for a server that somebody named
	maxList   = 1 << 20                // bytes of a list of models
)

// probe asks all servers at once and takes the first of the list that offers a model.
func probe(ctx context.Context, servers []Local) (l Local, model string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	found := make([]chan string, len(servers))
	for i, s := range servers {
		found[i] = make(chan string, 1)
		go func() {
			id, _ := firstModel(ctx, s.BaseURL, "") // a server that is not there is the normal case
			found[i] <- id
		}()
	}
	for i, s := range servers { // all are waited for: none may outlive this call
		if ok {
			cancel()
		}
		if id := <-found[i]; id != "" && !ok {
			l, model, ok = s, id, true
		}
	}
	return l, model, ok
}

// firstModel is the first model that a server lists and that can talk.
func firstModel(ctx context.Context, base, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return "", err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{
		// Without a proxy: loopback is meant literally, and a key goes to the host that was named or nowhere.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("list of models: HTTP %d", res.StatusCode)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxList)).Decode(&list); err != nil {
		return "", fmt.Errorf("list of models: %w", err)
	}
	for _, m := range list.Data {
		if m.ID != "" && printable(m.ID) && !strings.Contains(strings.ToLower(m.ID), "embed") {
			return m.ID, nil
		}
	}
	return "", fmt.Errorf("list of models: none that talks")
}

func printable(id string) bool {
	return len(id) <= 200 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}
