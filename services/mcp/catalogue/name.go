package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	between   = "__" // server and tool
	maxName   = 64   // bytes: what all providers take
	maxServer = 32   // bytes of it for the server
	maxRaw    = 1024 // bytes of a server's name for a tool; the protocol says 128
	hashSize  = 8    // hexadecimal digits
)

// named are jetclaw's names by the server's.
type named struct {
	tools     map[string]string
	utilities map[string]string
}

// nameAll names distinct tools, which come in the order of their names, and the utility tools. Names that can stay as they are
// come first: no other tool takes them. Then a name depends on nothing but its own, unless a server makes up names that end as the
// hashes of others do.
func nameAll(server string, tools []Tool) named {
	n := named{map[string]string{}, map[string]string{}}
	taken := map[string]bool{}
	for _, t := range tools {
		if name, same := candidate(server, t.Name); same {
			n.tools[t.Name], taken[name] = name, true
		}
	}
	for _, t := range tools {
		if n.tools[t.Name] == "" {
			n.tools[t.Name] = free(server, t.Name, t.Name, taken)
		}
	}
	for _, u := range utilityTools {
		raw := string(u.kind)
		if name, _ := candidate(server, raw); !taken[name] {
			n.utilities[raw], taken[name] = name, true
			continue
		}
		n.utilities[raw] = free(server, raw, "\x00"+raw, taken) // the server has a tool of that name
	}
	return n
}

// candidate is the name of a tool, if no other has it. same says that it is server__tool as the server calls it, with at most the
// server's part changed.
func candidate(server, raw string) (name string, same bool) {
	part := serverPart(server) + between
	if cleaned := clean(raw); cleaned == raw && len(part)+len(raw) <= maxName {
		return part + raw, true
	}
	return suffixed(part, raw, hash(server, raw)), false
}

// free is a name for a tool that nobody has taken, and takes it.
func free(server, raw, id string, taken map[string]bool) string {
	part := serverPart(server) + between
	name := suffixed(part, raw, hash(server, id))
	for i := 1; taken[name]; i++ {
		name = suffixed(part, raw, hash(server, id, strconv.Itoa(i)))
	}
	taken[name] = true
	return name
}

// suffixed is part and what there is room for of raw, and the hash.
func suffixed(part, raw, sum string) string {
	cleaned := clean(raw)
	return part + cleaned[:min(len(cleaned), maxName-len(part)-len("_")-len(sum))] + "_" + sum
}

// serverPart is the name of a server as the names of its tools begin. It never has two _ in a row nor ends in one, so that what
// stands before the first __ of a name is the server: the tools of two servers cannot have one name.
func serverPart(server string) string {
	if clean(server) == server && server != "" && len(server) <= maxServer && !strings.Contains(server, between) && !strings.HasSuffix(server, "_") {
		return server
	}
	var b strings.Builder
	last := byte(0)
	for _, c := range []byte(clean(server)) {
		if c == '_' && last == '_' {
			continue
		}
		b.WriteByte(c)
		last = c
	}
	stem := b.String()
	stem = strings.TrimRight(stem[:min(len(stem), maxServer-len("_")-hashSize)], "_")
	return stem + "_" + hash(server)
}

// clean has a _ for each byte that cannot stand in a name.
func clean(raw string) string {
	out := []byte(raw)
	for i, c := range out {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			out[i] = '_'
		}
	}
	return string(out)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:hashSize]
}
