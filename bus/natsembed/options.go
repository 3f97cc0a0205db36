package natsembed

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/jetclaw/jetclaw/bus"
)

// Sync is how soon what was acknowledged is on disk.
type Sync int

const (
	// SyncAlways writes through before it acknowledges.
	SyncAlways Sync = iota
	// SyncInterval writes through every two minutes.
	SyncInterval
)

// User is one user of the server.
type User struct {
	Name        string // for logs
	PublicKey   string // nkey: "U…"
	Permissions bus.Permissions
}

// Options of the embedded server. The zero value of an optional field is its default.
type Options struct {
	StoreDir    string       // required
	Users       []User       // required
	Log         *slog.Logger // required
	Sync        Sync         // default SyncAlways
	Listen      bool         // open a TCP port
	Host        string       // default 127.0.0.1
	Port        int          // -1: the system chooses one; required with Listen
	AllowRemote bool         // Host may be another than loopback: whoever reaches it can try keys, unencrypted
	MaxPayload  int32        // bytes of one message; default 1 MiB
	MaxStore    int64        // bytes of all streams together; default: only the streams' own limits
	MinFree     int64        // bytes that the disk must have before a broken store is opened again; default 64 MiB
	// Rebuildable are streams that hold only what can be built again: one that cannot be opened is removed. Who needs it makes
	// it anew.
	Rebuildable []string
	// Check is how often the watchdog looks; default 1 s.
	Check time.Duration
}

const (
	defaultHost       = "127.0.0.1"
	defaultMaxPayload = 1 << 20
	defaultMinFree    = 64 << 20
	defaultCheck      = time.Second
	noStoreLimit      = 1 << 50 // the server would guess from the free space, another number at each start
	maxMemoryStore    = 64 << 20
	authTimeout       = 10 // seconds; signing a nonce is instant, but a loaded machine is not
)

func (o *Options) fill() error {
	if o.Host == "" {
		o.Host = defaultHost
	}
	if o.MaxPayload == 0 {
		o.MaxPayload = defaultMaxPayload
	}
	if o.MaxStore == 0 {
		o.MaxStore = noStoreLimit
	}
	if o.MinFree == 0 {
		o.MinFree = defaultMinFree
	}
	if o.Check == 0 {
		o.Check = defaultCheck
	}
	switch {
	case o.StoreDir == "":
		return errors.New("the embedded server needs a store directory")
	case o.Log == nil:
		return errors.New("the embedded server needs a logger")
	case len(o.Users) == 0:
		return errors.New("the embedded server needs at least one user: without any it would let in everybody")
	case o.Listen && o.Port == 0:
		return errors.New("the embedded server needs a port to listen on; -1 lets the system choose")
	case o.Listen && !o.AllowRemote && !loopback(o.Host):
		return fmt.Errorf("the embedded server listens on loopback only: %q would let other machines try keys "+
			"over an unencrypted connection", o.Host)
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (o *Options) server(port int) *server.Options {
	so := &server.Options{
		ServerName:         "jetclaw",
		Host:               o.Host,
		Port:               port,
		DontListen:         !o.Listen,
		NoSigs:             true,
		NoLog:              true,
		MaxPayload:         o.MaxPayload,
		AuthTimeout:        authTimeout,
		JetStream:          true,
		StoreDir:           o.StoreDir,
		JetStreamMaxMemory: maxMemoryStore,
		JetStreamMaxStore:  o.MaxStore,
		SyncAlways:         o.Sync == SyncAlways,
	}
	so.Nkeys = NkeyUsers(o.Users)
	return so
}

// NkeyUsers are the users as a server takes them.
func NkeyUsers(users []User) []*server.NkeyUser {
	all := make([]*server.NkeyUser, len(users))
	for i, u := range users {
		p := &server.Permissions{
			Publish:   allow(u.Permissions.Publish),
			Subscribe: allow(u.Permissions.Subscribe),
		}
		p.Publish.Deny = append(p.Publish.Deny, u.Permissions.Deny...)
		all[i] = &server.NkeyUser{Nkey: u.PublicKey, Permissions: p}
	}
	return all
}

// allow makes an empty list mean nothing; the server takes a missing one as everything.
func allow(subjects []string) *server.SubjectPermission {
	if len(subjects) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: subjects}
}
