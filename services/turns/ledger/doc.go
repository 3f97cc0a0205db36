// Package ledger keeps accounts of model calls: it folds the events of the journal into rows by day, agent, session and
// model.
//
// A call counts on the UTC day of its event, whatever came of it: an answer, a failure, a summary. What was asked before
// the model that answered is not known in tokens and is not counted. A deleted session's calls are in its tombstone,
// which replaces what the book had of that session: it is the whole of it, so that a book that saw the calls and one that
// comes later say the same.
//
// Money is in whole billionths of a US dollar. Tokens whose price was not known are counted apart: an account that has
// any says so, and never adds 0 for them.
package ledger
