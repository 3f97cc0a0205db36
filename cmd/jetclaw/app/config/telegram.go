package config

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// Telegram is one bot; its name is the third part of the ids of its sessions.
//
// A bot needs no configuration: when none is configured, TELEGRAM_BOT_TOKEN in the environment is one by the name
// EnvBot, with all defaults. A configured bot wins: then the variable counts only where a token names it.
type Telegram struct {
	Token     Secret           `yaml:"token"`
	Agent     string           `yaml:"agent"`     // who answers
	Access    string           `yaml:"access"`    // who may write privately: pairing, allowlist, open
	Allow     []UserID         `yaml:"allow"`     // let in without pairing; so are the Telegram owners
	Groups    map[string]Group `yaml:"groups"`    // by number, as "-100777"; all others are ignored
	Streaming string           `yaml:"streaming"` // edit: an answer is seen as it grows; off: when it is whole
	APIRoot   string           `yaml:"api_root"`  // of the Bot API server
	Webhook   Webhook          `yaml:"webhook"`   // none: jetclaw asks for updates itself
}

// Group is one group that a bot is used in.
type Group struct {
	RequireMention bool     `yaml:"require_mention"` // only what names the bot, or answers it, is for it
	Users          []UserID `yaml:"users"`           // who is heard; none: all members
}

// Webhook lets Telegram call. Either all of it is given, or nothing.
type Webhook struct {
	URL    string `yaml:"url"`    // what Telegram calls
	Listen string `yaml:"listen"` // host:port
	Secret Secret `yaml:"secret"` // by which its calls are known
}

// Set says whether there is any of it.
func (w Webhook) Set() bool { return w.URL != "" || w.Listen != "" || w.Secret.Set() }

// UserID is the number of a person in Telegram. Names can be taken by others and are not read.
type UserID int64

func (u *UserID) parse(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return errors.New("must be the number of a person, as in 12345: names can be taken by others")
	case n < 0:
		return errors.New("a negative number is a group: it belongs under groups")
	case n == 0:
		return errors.New("must be the number of a person, as in 12345")
	}
	*u = UserID(n)
	return nil
}

const (
	// EnvBot is the name of the bot that the environment asks for.
	EnvBot = "default"
	// EnvBotToken is the variable that asks for it.
	EnvBotToken = "TELEGRAM_BOT_TOKEN" //nolint:gosec // its name, not its value
)

// DefaultBot is what a bot is where its section says nothing.
func DefaultBot() Telegram {
	return Telegram{Agent: MainAgent, Access: "pairing", Streaming: "edit", APIRoot: "https://api.telegram.org"}
}

// Bots are the configured bots, else the one that the environment asks for. Secrets are not resolved.
func (c *Config) Bots(lookup func(name string) (string, bool)) map[string]Telegram {
	if len(c.Channels.Telegram) > 0 {
		return maps.Clone(c.Channels.Telegram)
	}
	if token, _ := lookup(EnvBotToken); strings.TrimSpace(token) == "" {
		return nil
	}
	bot := DefaultBot()
	bot.Token = Secret{ref: "env:" + EnvBotToken}
	return map[string]Telegram{EnvBot: bot}
}

// ResolveBot fills in the secrets of a bot from Bots.
func (c *Config) ResolveBot(r Resolver, file, name string, bot *Telegram) ([]Warning, error) {
	at := "channels.telegram." + name
	resolve := func(path string, s *Secret, fits func(string) bool, want string) ([]Warning, error) {
		w, err := c.Resolve(r, file, path, s)
		if err == nil && s.Set() && !fits(s.Value()) {
			err = &SecretError{File: file, Position: c.at[path], Path: path, Ref: s.ref, Text: want, Hint: "put nothing but the secret there"}
		}
		return w, err
	}
	w, err := resolve(at+".token", &bot.Token, botToken.MatchString, "this is no token of a bot, which has the form 123456789:AAH…")
	more, serr := resolve(at+".webhook.secret", &bot.Webhook.Secret, func(s string) bool { return len(s) <= maxWebhookSecret && only(s, "_-") },
		"the secret of a webhook has 1 to "+strconv.Itoa(maxWebhookSecret)+" letters, digits, _ and -")
	return append(w, more...), errors.Join(err, serr)
}

// botToken is the form of a token: the number of the bot, and its secret.
var botToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]{10,}$`)

// maxWebhookSecret is the longest one that Telegram takes (Bot API: setWebhook, secret_token).
const maxWebhookSecret = 256

// LetIn are the people that may write to a bot privately without having been paired: those of allow and the Telegram owners.
func (c *Config) LetIn(bot Telegram) []int64 {
	var list []int64
	for _, u := range bot.Allow {
		list = append(list, int64(u))
	}
	for _, o := range c.Owners {
		id, ok := strings.CutPrefix(o, "telegram:")
		if n, err := strconv.ParseInt(id, 10, 64); ok && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// groupID reads the number of a group: "-100777", written in one way only.
func groupID(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n < 0 && strconv.FormatInt(n, 10) == text
}

// GroupsByID are the groups by their numbers.
func (t Telegram) GroupsByID() map[int64]Group {
	m := make(map[int64]Group, len(t.Groups))
	for text, g := range t.Groups {
		if n, ok := groupID(text); ok {
			m[n] = g
		}
	}
	return m
}

// UserIDs are the users as plain numbers.
func (g Group) UserIDs() []int64 {
	var list []int64
	for _, u := range g.Users {
		list = append(list, int64(u))
	}
	return list
}

// MarshalYAML writes require_mention also when it is off: to leave it out would mean that it is on.
func (g Group) MarshalYAML() ([]byte, error) {
	return yaml.Marshal(struct {
		RequireMention bool     `yaml:"require_mention"`
		Users          []UserID `yaml:"users,omitempty"`
	}(g))
}

func (k *checker) telegram() {
	bots := k.c.Channels.Telegram
	tokens, listeners := map[string]string{}, map[string]string{k.c.Channels.HTTP.Listen: "channels.http.listen"}
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		t, at := bots[name], "channels.telegram."+name
		if !nameOf(name, "_-") {
			k.fail(at, "the name of a bot is 1 to 64 of A-Z a-z 0-9 _ -", "it is part of the ids of its sessions")
		}
		if other, twice := tokens[t.Token.ref]; twice && t.Token.Set() {
			k.fail(at+".token", "this is the token of "+other+", too", "two that ask for the updates of one bot take them from each other")
		}
		tokens[t.Token.ref] = name
		if !t.Token.Set() && !k.written(at+".token") {
			k.fail(at, "token is missing", `token: "env:TELEGRAM_BOT_TOKEN"`)
		}
		if a, ok := k.c.Agents[t.Agent]; !ok {
			k.fail(at+".agent", "there is no such agent", suggest.Hint(t.Agent, slices.Sorted(maps.Keys(k.c.Agents))))
		} else if a.Client {
			k.fail(at+".agent", "this is a client agent: no model would answer", "name one without client: true")
		}
		k.oneOf(at+".streaming", t.Streaming, "edit", "off")
		k.people(at, t)
		k.apiRoot(at+".api_root", t.APIRoot)
		k.webhook(at+".webhook", t.Webhook, listeners)
	}
}

// written says whether something stands at a path, be it unreadable: that is told already.
func (k *checker) written(path string) bool {
	_, ok := k.c.at[path]
	return ok
}

// people checks who may write to a bot.
func (k *checker) people(at string, t Telegram) {
	k.oneOf(at+".access", t.Access, "pairing", "allowlist", "open")
	switch {
	case t.Access == "open":
		k.warn(at+".access", "everybody who finds the bot can talk to the agent, at your expense, and what they write can lead it; "+
			"pairing lets in whom you approve")
	case t.Access == "allowlist" && len(k.c.LetIn(t)) == 0 && len(t.Groups) == 0:
		k.warn(at+".access", "nobody is let in: there is nobody in allow, no Telegram owner and no group (who was paired before "+
			"still is, until `jetclaw pairing revoke`)")
	}
	for _, id := range slices.Sorted(maps.Keys(t.Groups)) {
		path := at + ".groups." + id
		if _, ok := groupID(id); !ok {
			k.fail(path, "must be the number of a group, which is negative", `as in "-1001234567890"`)
		}
		if len(t.Groups[id].Users) == 0 && k.written(path+".users") { // whoever writes an empty list means nobody, and would get everybody
			k.fail(path+".users", "is empty, and so says nothing", "leave it out to hear every member, or remove the group to hear none")
			continue
		}
		if len(t.Groups[id].Users) == 0 && k.c.Tools.Exec.Enabled {
			k.warn(path, "every member of the group, whoever joins it, can ask the agent for commands (tools.exec); users says who is heard")
		}
	}
}

// apiRoot checks the address of a Bot API server. It never repeats it: it may hold a token by mistake.
func (k *checker) apiRoot(at, text string) {
	u := k.httpURL(at, text)
	switch {
	case u == nil:
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		k.fail(at, "holds a query or a fragment", `as in "https://api.telegram.org"`)
	case strings.HasPrefix(path.Base(u.Path), "bot"):
		k.fail(at, "ends with /bot…, which is added to it", `as in "https://api.telegram.org"; the token belongs into token`)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		k.warn(at, "the token and all messages cross the network unencrypted; use https")
	}
}

func (k *checker) webhook(at string, w Webhook, listeners map[string]string) {
	if !w.Set() && !k.written(at+".secret") {
		return
	}
	if w.URL == "" || w.Listen == "" || !w.Secret.Set() && !k.written(at+".secret") {
		k.fail(at, "url, listen and secret belong together", "give all of them, or none to have jetclaw ask for updates itself")
		return
	}
	if u := k.httpURL(at+".url", w.URL); u != nil {
		k.webhookURL(at+".url", u)
	}
	if w.Listen == "off" {
		k.fail(at+".listen", "must be host:port", `as in "127.0.0.1:8443"`)
		return
	}
	host := k.listen(at+".listen", w.Listen, 1)
	if host == "" {
		return
	}
	if !loopback(host) {
		k.warn(at+".listen", "updates come in unencrypted, as Telegram calls https only: let a proxy with TLS call a loopback address")
	}
	if other, taken := listeners[w.Listen]; taken {
		k.fail(at+".listen", other+" listens there already", "choose another port")
		return
	}
	listeners[w.Listen] = at + ".listen"
}

func (k *checker) webhookURL(at string, u *url.URL) {
	switch {
	case u.Scheme == "http" && !loopback(u.Hostname()):
		k.fail(at, "must be https: Telegram calls nothing else", "")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		k.fail(at, "holds a query or a fragment", "calls are known by the secret")
	}
}

// only says whether a text has at least one letter or digit or other of a set, and nothing else; all of ASCII.
func only(text, others string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(others, r)
	})
}
