package natsconf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
)

// User is one user of the bus and what it may do there.
type User struct {
	Name        string
	Permissions bus.Permissions
}

// KeysFile is the file with the public keys, as a file of users includes it.
const KeysFile = "keys.conf"

const authTimeout = 10 // seconds; signing a nonce is instant, but a loaded machine is not

// Variable is the name under which a file of keys has the public key of a user.
func Variable(user string) string {
	return "NKEY_" + strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
}

// Keys is a file of keys: public ones, by user, in the order of users.
func Keys(users []User, public map[string]string) string {
	var b strings.Builder
	b.WriteString("# Public keys of the bus users (jetclaw nats keys). Who has the seed of one is that user.\n")
	for _, u := range users {
		fmt.Fprintf(&b, "%s: %s\n", Variable(u.Name), strconv.Quote(public[u.Name]))
	}
	return b.String()
}

// Users is a whole file of users: with the public keys, or without any by the variables of KeysFile, which it includes.
func Users(users []User, public map[string]string) string {
	var b strings.Builder
	b.WriteString("# Who may do what on the bus: the least that each service needs (jetclaw nats permissions --conf). Generated; do not edit.\n")
	if public == nil {
		fmt.Fprintf(&b, "include %q\n\n", KeysFile)
	}
	fmt.Fprintf(&b, "authorization {\n  timeout: %d\n  users: [\n", authTimeout)
	for _, u := range users {
		writeUser(&b, u, public)
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}

func writeUser(b *strings.Builder, u User, public map[string]string) {
	key := "$" + Variable(u.Name)
	if public != nil {
		key = strconv.Quote(public[u.Name])
	}
	p := u.Permissions
	fmt.Fprintf(b, "    # %s\n    {\n      nkey: %s\n      permissions: {\n", u.Name, key)
	writeSubjects(b, "publish", p.Publish, p.Deny)
	writeSubjects(b, "subscribe", p.Subscribe, nil)
	b.WriteString("      }\n    }\n")
}

// writeSubjects makes an empty list mean nothing; the server takes a missing one as everything.
func writeSubjects(b *strings.Builder, verb string, allow, deny []string) {
	if len(allow) == 0 {
		deny = []string{">"}
	}
	fmt.Fprintf(b, "        %s: {\n", verb)
	for _, list := range []struct {
		name     string
		subjects []string
	}{{"allow", allow}, {"deny", deny}} {
		if len(list.subjects) == 0 {
			continue
		}
		fmt.Fprintf(b, "          %s: [\n", list.name)
		for _, s := range list.subjects {
			fmt.Fprintf(b, "            %q\n", s)
		}
		b.WriteString("          ]\n")
	}
	b.WriteString("        }\n")
}
