// Package recheck decides again: it holds a journal against today's machines. For every event that a machine has appended it
// asks that machine what it would append on the fold of all that came before it in its session, and compares.
//
// What the world contributed is taken from the event itself: its time (which is the machine's clock when it decided), who
// appended it, whether the owner of an open claim was gone, what a judge, a person or a model said. What the machine was
// configured with is found by the digest that the event carries (envelope.Event.Rules, actor.Rulebook); where nobody has
// recorded it, today's defaults are tried, and recorded deadlines are taken as they are.
//
// An event comes about in one of three ways, and is checked accordingly:
//
//	decided     the machine asked to append it: type, cause and body have to be the same
//	outcome     an effect brought it: the machine must ask for that very effect, and what it determines of the outcome (whose it
//	            is, which messages it answers) has to be the same; what the effect said stands
//	given       decided by nobody: facts from outside, and what an endpoint was asked for
package recheck
