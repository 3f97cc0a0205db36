// Package egress connects to the public internet and to nothing else.
//
// A name is resolved once for each connection, every address that it resolves to is checked, and what is dialled is one of
// the checked addresses, never the name: an answer that changes between the check and the use (DNS rebinding) has no use to
// change. The check runs a second time below that, on the address of the socket itself, so that a mistake above it fails
// closed. What is not known to be public is refused: of IPv6 only 2000::/3 is taken, less what is set aside in it.
package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// Policy says which addresses may be dialled. The zero value takes public ones only.
type Policy struct{ allow []netip.Prefix }

// Forbidden is an address that may not be dialled.
type Forbidden struct {
	Addr netip.Addr
	Kind string // what the address is: "a private address"
}

func (f *Forbidden) Error() string { return "it is " + f.Kind + ", not a public one" }

// NewPolicy takes public addresses and those of allow, which have to lie within the private ranges. The link-local range,
// where clouds hand out credentials, cannot be allowed; neither can "everything".
func NewPolicy(allow []netip.Prefix) (Policy, error) {
	var p Policy
	for _, a := range allow {
		if a.Addr().Is4In6() || !a.IsValid() {
			return Policy{}, fmt.Errorf("%v is not a range of addresses", a)
		}
		if !within(private, a) {
			return Policy{}, fmt.Errorf("%v does not lie within the private ranges: only those can be allowed", a)
		}
		p.allow = append(p.allow, a.Masked())
	}
	return p, nil
}

func within(ranges []block, a netip.Prefix) bool {
	for _, r := range ranges {
		if r.prefix.Bits() <= a.Bits() && r.prefix.Contains(a.Addr()) {
			return true
		}
	}
	return false
}

// Check is a *Forbidden unless a may be dialled.
func (p Policy) Check(a netip.Addr) error {
	if !a.IsValid() || a.Zone() != "" {
		return &Forbidden{a, "an address of one network interface"}
	}
	a = a.Unmap() // ::ffff:10.0.0.1 is dialled as 10.0.0.1
	for _, r := range p.allow {
		if r.Contains(a) {
			return nil
		}
	}
	if kind := kindOf(a); kind != "" {
		return &Forbidden{a, kind}
	}
	return nil
}

// Control is the Control hook of a net.Dialer: it sees the address that the socket is about to connect to.
func (p Policy) Control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return errors.New("only TCP is dialled, not " + network)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("the address of the socket cannot be read")
	}
	return p.Check(at.Addr())
}
