package store

import (
	"context"
)

// ReadJournal reads the journal of a stopped daemon.
func ReadJournal(ctx context.Context, data string) ([]Record, error) {
	st, err := Open(data)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Journal(ctx)
}

// Left is what a stopped daemon has left: its journal, and what of it nobody was told.
func Left(ctx context.Context, data string) ([]Record, []Bell, error) {
	st, err := Open(data)
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
