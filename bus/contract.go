package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// contractKey is where the journal's stream says which contract its events keep, see registry.Contract.
const contractKey = "jetclaw.contract"

// ErrNewer says that the journal is of a newer jetclaw than this one, which would read it wrongly.
var ErrNewer = errors.New("the journal is of a newer jetclaw")

// ErrOlder says that the topology is of an older jetclaw than this one.
var ErrOlder = errors.New("the topology is of an older jetclaw")

func contractOf(metadata map[string]string) int {
	n, err := strconv.Atoi(metadata[contractKey])
	if err != nil {
		return 0 // it was made before there was a number
	}
	return n
}

func newer(contract int) error {
	if contract <= registry.Contract {
		return nil
	}
	return fmt.Errorf("%w: its events keep contract %d, and this one knows %d: upgrade this jetclaw; it leaves that journal alone",
		ErrNewer, contract, registry.Contract)
}

// withContract is the metadata that a journal is to have. It is never lowered.
func withContract(have map[string]string) (map[string]string, error) {
	if err := newer(contractOf(have)); err != nil {
		return nil, err
	}
	want := map[string]string{contractKey: strconv.Itoa(registry.Contract)}
	for k, v := range maps.All(have) {
		if k != contractKey {
			want[k] = v
		}
	}
	return want, nil
}

// contract asks the stream's leader for the number of the journal.
func (c *Conn) contract(ctx context.Context) (int, error) {
	info, err := c.streamInfo(ctx, subject.Journal)
	return contractOf(info.Config.Metadata), err
}

// foreign looks closer at an event of a type that is not known: that of a newer jetclaw is an error, so that no fold passes it by. In
// a journal of our own contract it is nobody's, and stays an envelope.Unknown.
func (c *Conn) foreign(ctx context.Context, ev envelope.Event) error {
	u, ok := ev.Body.(envelope.Unknown)
	if !ok || !errors.Is(u.Err, registry.ErrType) {
		return nil
	}
	n, err := c.contract(ctx)
	if err != nil {
		return err
	}
	if err := newer(n); err != nil {
		c.outdate(err)
		return fmt.Errorf("event %d (%s): %w", ev.Cursor, u.Type, err)
	}
	return nil
}

func (c *Conn) outdate(err error) {
	c.aging.Do(func() {
		c.log.Error("stopping", "error", err)
		c.outdated <- err
	})
}

// contractEvery is how often a running service looks whether it was overtaken by a newer one.
const contractEvery = 15 * time.Second

// Outdated waits until the journal has become one of a newer jetclaw than this one: by an event that is not known, or as somebody has
// applied a newer topology. Its error is ErrNewer; nil when ctx ended.
func (c *Conn) Outdated(ctx context.Context) error {
	tick := time.NewTicker(contractEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.outdated:
			return err
		case <-tick.C:
		}
		n, err := c.contract(ctx)
		if err != nil {
			continue // a bus that is away
		}
		if err := newer(n); err != nil {
			return err
		}
	}
}
