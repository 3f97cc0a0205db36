package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

const (
	dialTimeout = 8 * time.Second // one address of several must not use up the time of all
	maxTries    = 4               // addresses of a name that are tried
	maxAnswers  = 64              // a name with more is not a web site
)

// Dialer dials names and addresses as its policy allows. Its methods may be called from any goroutine.
type Dialer struct {
	Policy Policy
	// Budget is the bytes that one connection may bring in, whatever they decompress to. It has to be set.
	Budget int64
	// Lookup resolves a name; nil asks the system.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Connect dials an address that was checked; nil dials it with a second check on the socket.
	Connect func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// DialContext is what http.Transport asks for. Errors that say why an address is not dialled are *Forbidden.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, errors.New("only TCP is dialled, not " + network)
	}
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs[:min(len(addrs), maxTries)] {
		c, err := d.connect(ctx, netip.AddrPortFrom(a, uint16(port)))
		if err == nil {
			return &metered{Conn: c, left: d.Budget}, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, failed
}

// resolve returns the addresses of a host, all of them checked. One that is forbidden spoils the others: a public name with
// a private address beside the public one is an attempt, or a network set up so that it looks like one.
func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else {
		lookup := d.Lookup
		if lookup == nil {
			lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
				return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			}
		}
		if addrs, err = lookup(ctx, host); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 || len(addrs) > maxAnswers {
		return nil, &net.DNSError{Err: "no usable answer", Name: host, IsNotFound: true}
	}
	checked := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		if err := d.Policy.Check(a); err != nil {
			return nil, err
		}
		checked[i] = a.Unmap()
	}
	return checked, nil
}

func (d *Dialer) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if d.Connect != nil {
		return d.Connect(ctx, to)
	}
	return (&net.Dialer{Control: d.Policy.Control}).DialContext(ctx, "tcp", to.String())
}

// ErrFlood is what reading from a connection says that has brought in more than its budget.
var ErrFlood = errors.New("more arrived than is read")

// metered ends a connection that brings in too much: a body that decompresses to nothing would otherwise be read for as
// long as it is sent.
type metered struct {
	net.Conn

	left int64 // owned by the one goroutine that reads
}

func (m *metered) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, ErrFlood
	}
	if int64(len(b)) > m.left {
		b = b[:m.left]
	}
	n, err := m.Conn.Read(b)
	m.left -= int64(n)
	return n, err
}
