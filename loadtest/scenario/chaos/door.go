package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/user/client"
)

// doors are the HTTP channels of several processes: whoever comes goes through any of them, as behind a balancer.
type doors struct {
	list []*client.Client
}

const doorPatience = 15 * time.Second // beyond what was asked for: a process may stand still with the question

func (k *run) doors() (*doors, error) {
	d := &doors{}
	for _, s := range k.cluster.Of("intake") {
		token, err := s.Home.Token()
		if err != nil {
			return nil, err
		}
		d.list = append(d.list, client.New(s.Home.URL(), token, k.o.Sessions*(k.o.Window+2)))
	}
	if len(d.list) == 0 {
		return nil, errors.New("no process takes messages in")
	}
	return d, nil
}

func (d *doors) any() *client.Client { return d.list[rand.IntN(len(d.list))] }

var errDoor = errors.New("the process does not answer")

// Send posts a message.
func (d *doors) Send(ctx context.Context, m client.Message) (client.Accepted, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, doorPatience, errDoor)
	defer cancel()
	return d.any().Send(ctx, m)
}

// Wait asks for a reply; a question to a person does not end it.
func (d *doors) Wait(ctx context.Context, id string, patience time.Duration) (client.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience+doorPatience, errDoor)
	defer cancel()
	r, err := d.any().WaitAnswer(ctx, id, patience)
	if s := (*client.StatusError)(nil); errors.As(err, &s) && s.Status == http.StatusNotFound {
		// What one process has accepted every process knows.
		return r, fmt.Errorf("accepted, and not known: %w", err)
	}
	return r, err
}

// Close gives the connections back.
func (d *doors) Close() {
	for _, c := range d.list {
		c.Close()
	}
}
