// Package price knows what a model call costs and how much a model reads.
//
// A table comes from a JSON file of list prices and from the configuration, whose entries win. What is in neither has no
// price: it is unknown, which is told as such, and never counted as 0. Amounts of money are whole billionths of a US
// dollar, rates whole billionths for 1,000 tokens, so that sums are exact.
//
// The file:
//
//	{"sources": ["https://…"], "models": [
//	  {"vendor": "openai", "model": "gpt-4o", "as_of": "2026-11-06", "context": 128000,
//	   "input": 2.5, "output": 10, "cache_read": 1.25,
//	   "above": {"tokens": 272000, "input": 5, "output": 15}}]}
//
// Rates are US dollars for a million tokens. Without cache_read or cache_write these tokens cost what input costs. Above
// so many tokens of input the rates of "above" count for the whole call; without rates in it they are unknown.
//
// A pattern is a name, or has a * for any characters. A name also stands for its dated issues (gpt-4o-2024-08-06,
// claude-sonnet-4-5-20250929, claude-sonnet-4-5@20250929, claude-sonnet-4-5-latest) and for nothing else that begins
// with it. Names go before patterns with a *, longer ones before shorter ones.
package price
