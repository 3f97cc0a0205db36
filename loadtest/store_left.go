package main

import (
	"context"

	"github.com/jetclaw/jetclaw/loadtest/store"
)

// journalOf reads the journal of a stopped daemon.
func journalOf(ctx context.Context, data string) ([]store.Record, error) {
	st, err := store.Open(data)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Journal(ctx)
}

// left is what a stopped daemon has left: its journal, and what of it nobody was told.
func left(ctx context.Context, data string) ([]store.Record, []store.Bell, error) {
	st, err := store.Open(data)
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	journal, err := st.Journal(ctx)
	if err != nil {
		return nil, nil, err
	}
	bells, err := st.Bells(ctx)
	return journal, bells, err
}
