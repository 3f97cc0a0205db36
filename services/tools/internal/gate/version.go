package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// Version names everything that decides about all calls of an agent: the rules, what the agent may use, its workspace and what
// its prompt files say. It changes when one of these does. The reasons of rules decide nothing, and known secrets are left out: a
// version is published.
func (g *Gate) Version(agent string) string { return g.version(agent, "") }

// version is Version with what decides about the calls of one tool, too: the tool, and where it runs. What others offer does not
// matter: a server that changes its list would void what waits for a decision about another.
func (g *Gate) version(agent, tool string) string {
	a := g.agent(agent)
	return callv1.Policy{
		Rules: hashed(func(h hash.Hash) {
			put(h, "jetclaw policy 1", g.rules, agent)
			put(h, a.Allow...)
			put(h, a.Deny...)
			put(h, a.Workspace)
			put(h, g.config.Private...)
			if a.Client { // so that the versions of all others stay what they were
				put(h, "client")
			}
		}),
		Tools:   tool,
		Prompts: hashed(func(h hash.Hash) { put(h, g.prompts.digest(a.Workspace)) }),
	}.Version()
}

// hashed is the digest of one part of a version.
func hashed(write func(hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// put writes a list of texts so that no other list has the same bytes.
func put(h hash.Hash, texts ...string) {
	var b strings.Builder
	b.WriteString(sized(int64(len(texts))))
	for _, t := range texts {
		b.WriteString(sized(int64(len(t))))
		b.WriteString(t)
	}
	h.Write([]byte(b.String()))
}

func sized(n int64) string { return strconv.FormatInt(n, 10) + ":" }

// digest is of what decides in the policy.
func (p Policy) digest() string {
	h := sha256.New()
	for _, l := range p.lists() {
		put(h, l.name, sized(int64(len(l.rules))))
		for _, r := range l.rules {
			put(h, r.Tool, r.Agent)
			for _, name := range slices.Sorted(maps.Keys(r.Args)) {
				put(h, name, r.Args[name])
			}
			put(h)
		}
	}
	return string(h.Sum(nil))
}
