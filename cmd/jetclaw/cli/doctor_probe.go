package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
)

// probeTime is how long a server has to say which models it has.
const probeTime = 5 * time.Second

// models asks, with --probe, the server of each provider for its list of models. That costs no tokens.
func (x *examination) models(ctx context.Context) error {
	if !x.o.probe {
		return nil
	}
	setup, _, err := models.Resolve(ctx, models.Source{
		Config: x.e.Config, ConfigFile: x.e.Home.Config(), Local: models.LocalServers(),
		Resolver: config.Resolver{Home: x.e.Home.Dir(), Lookup: x.s.lookup, Known: x.s.secrets.Add},
	})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	names := setup.Names()
	findings := make([]health.Finding, len(names))
	for i, name := range names {
		wg.Go(func() { findings[i] = probed(ctx, name, setup.Providers[name]) })
	}
	wg.Wait()
	for _, f := range findings {
		x.report.Add(f)
	}
	return nil
}

// probed is what the server of a provider says. Its key is told to nobody else.
func probed(ctx context.Context, name string, p models.Provider) health.Finding {
	f := health.Finding{ID: "model.ok", Severity: health.Fine, Check: "models " + name}
	if p.API == models.Offline {
		f.Text = "is built in"
		return f
	}
	began := time.Now()
	err := askModels(ctx, p)
	if err == nil {
		f.Text = fmt.Sprintf("%s answers (%d ms)", p.BaseURL, time.Since(began).Milliseconds())
		return f
	}
	f.ID, f.Severity, f.Text = "model.unreachable", health.Problem, fmt.Sprintf("%s: %s", p.BaseURL, err)
	f.Fix = "check that the server runs, its address, and the network"
	if refused, ok := errors.AsType[statusError](err); ok && (refused == http.StatusUnauthorized || refused == http.StatusForbidden) {
		f.ID, f.Fix = "model.refused", "its key is not taken: check api_key"
	}
	return f
}

// statusError is an answer other than 200.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", int(e), http.StatusText(int(e)))
}

func askModels(ctx context.Context, p models.Provider) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	path := "/models"
	if p.API == models.Anthropic {
		path = "/v1/models"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(p.BaseURL, "/")+path, nil)
	if err != nil {
		return errors.New("the address is none")
	}
	switch {
	case p.Key == "":
	case p.API == models.Anthropic:
		req.Header.Set("X-Api-Key", p.Key)
	default:
		req.Header.Set("Authorization", "Bearer "+p.Key)
	}
	if p.API == models.Anthropic {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key goes where it was meant for
	}
	res, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // without the address, which is told already
			err = u.Err
		}
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return statusError(res.StatusCode)
	}
	return nil
}
