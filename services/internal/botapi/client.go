package botapi

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/secret"
)

// Config says whose bot it is, and where its server.
type Config struct {
	Token string
	// APIRoot is the server; "" for https://api.telegram.org. It may have a path; a slash at its end does not matter.
	APIRoot string
	// TLS has the root CAs and client certificates for https; nil takes the system's.
	TLS *tls.Config
	// Proxy is asked for the proxy of each connection; nil uses none. http.ProxyFromEnvironment fits.
	Proxy func(*http.Request) (*url.URL, error)
}

// Client calls the methods for one bot. Its methods may be called from any goroutine; their errors are *Error.
type Client struct {
	root      string // without a slash at its end
	host      string
	token     string
	bot       int64
	secrets   []string
	known     secret.Known
	transport *http.Transport
}

const (
	publicRoot   = "https://api.telegram.org"
	dialTimeout  = 10 * time.Second
	idleTimeout  = 20 * time.Second // servers give them up after 60 s and more
	idleConns    = 8
	maxHeader    = 64 << 10
	maxToken     = 256
	callLimit    = 30 * time.Second // a method that has nothing to wait for
	pollLimit    = 10 * time.Second // beyond the time that a poll may wait
	fetchLimit   = 3 * time.Minute  // 20 MB, slowly
	maxAnswer    = 4 << 20
	maxUpdates   = 32 << 20 // all updates of one poll
	jsonMimeType = "application/json"
)

var tokenForm = regexp.MustCompile(`^([0-9]{1,18}):([A-Za-z0-9_-]{10,})$`)

// tokenInPath finds what looks like the place of a token in an api_root.
var tokenInPath = regexp.MustCompile(`(?i)/bot[0-9]*(:|/?$)`)

// New checks the configuration; it does not call the server. Its errors hold neither the token nor the root.
func New(c Config) (*Client, error) {
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the bot token holds a space, a line break, a control character or one beyond ASCII")
	}
	parts := tokenForm.FindStringSubmatch(c.Token)
	if parts == nil || len(c.Token) > maxToken {
		return nil, errors.New("the bot token does not look like one: a number, a colon and letters, as BotFather gives it")
	}
	bot, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || bot == 0 {
		return nil, errors.New("the bot token does not begin with the number of a bot")
	}
	root, host, err := rootOf(c.APIRoot, parts[2])
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	secrets := []string{c.Token, parts[2]}
	return &Client{
		root: root, host: host, token: c.Token, bot: bot, secrets: secrets, known: secret.Compile(secrets),
		transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			Proxy:                  c.Proxy,
			OnProxyConnectResponse: proxyAnswer,
			TLSHandshakeTimeout:    dialTimeout,
			TLSClientConfig:        c.TLS.Clone(),
			Protocols:              protocols,
			MaxIdleConnsPerHost:    idleConns,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
		},
	}, nil
}

// rootOf checks an api_root. Nothing of it is in an error: whoever pastes a whole URL pastes the token.
func rootOf(root, private string) (clean, host string, err error) {
	if root == "" {
		root = publicRoot
	}
	u, err := url.Parse(root)
	switch {
	case err != nil:
		return "", "", errors.New("api_root cannot be read as a URL") // the parser's error quotes it
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", "", errors.New("api_root has to begin with http:// or https:// and a host")
	case u.User != nil:
		return "", "", errors.New("api_root holds a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "", errors.New("api_root holds a ? or #: it ends with its path")
	case strings.Contains(root, private) || strings.Contains(u.Path, private) || tokenInPath.MatchString(u.Path):
		return "", "", errors.New("api_root ends before /bot<token>: leave that part out")
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), u.Host, nil
}

// BotID is the bot's number, which is the first part of its token.
func (c *Client) BotID() int64 { return c.bot }

// Redact is s without the token, and without its secret half alone, in any spelling: as it is, in a URL, percent-encoded,
// in JSON. It takes out what looks like another secret, too.
func (c *Client) Redact(s string) string { return c.known.Redact(s) }

// Close gives up the connections that are kept. A client that is called again makes new ones.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// proxyRefused is a proxy's answer to CONNECT that is not 200.
type proxyRefused int

func (p proxyRefused) Error() string { return "the proxy answers HTTP " + strconv.Itoa(int(p)) }

func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return proxyRefused(res.StatusCode)
	}
	return nil
}
