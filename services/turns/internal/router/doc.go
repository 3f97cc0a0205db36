// Package router asks the models of a chain in order until one answers.
//
// It goes on to the next model only while nothing of an answer was passed on, and only for what is the model's or the
// provider's fault, or what another may do better (passing, denied, missing, garbage, invalid). A filtered answer is
// told: asking another would go round the filter. So is an overflow (the turn has to be made shorter), and the end of the
// context. A panic of an adapter is garbage. Each model but the last has half of the time that is left to begin its
// answer, so that one that hangs leaves some for the others.
//
// What a failure says about the next call is kept as a hold, per model and per provider:
//
//	passing with a Retry-After      the model, until then (an hour at most)
//	passing, twice in a row         the model, 15 s, doubling to 5 min; an answer ends it
//	missing                         the model, 5 min
//	denied                          the provider, 5 min; an answer ends it
//	garbage, invalid, filtered, overflow and a stop: none
//
// A model on hold is passed over. When all of a chain are, the one whose hold ends first is asked, unless it is the
// provider that asked to be left alone (Retry-After, and denied where there is more than one model): then nobody is, and
// the person is told when to try again. A hold belongs to the address and the key too: a new key begins without.
//
// Holds are in memory and in a store, where other processes and the next start find them: in the store the last writer
// wins. A store that fails or is slow is logged and costs a call at most a tenth of a second.
package router
