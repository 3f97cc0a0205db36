// Package access is the pure machine that decides who may write to a bot.
//
// [State] is the fold of the one session accessv1.Session: who was let in at which door, who has asked to be, and which
// groups have another number by now. [State.Judge] holds one attempt against it and against what is configured
// ([Policy]). There is one gate for messages, edits, reactions, buttons and commands alike: what an attempt is does not
// matter, only who makes it, where, and whether the bot was meant.
//
// It promises:
//   - Closed unless a rule opens it: an unknown mode, an unknown kind of chat, a bot, a channel, a sender without a number
//     are ignored. The zero Verdict is to ignore.
//   - People are numbers. Names are shown, never compared. Who writes as a group or as a channel (an anonymous admin) is
//     nobody in particular and is on no list.
//   - Nobody is let in at one door because they were at another, in a group because they may write privately, or privately
//     because their group may.
//   - In a private chat of a door with pairing, whoever is not known is told a code, once an hour at most and no more than
//     MaxOpen people at a time; all others, and all in groups, hear nothing. The code carries no authority: what lets
//     somebody in is an operator's accessv1.Granted.
//   - The state is as large as what operators have decided, and MaxOpen requests a door: Apply drops expired ones, by the
//     times of events.
//
// A request remembers the attempt that it came from ([Attempt.Key]). If that attempt comes again, because whoever
// handled it died before the code was told, it is told the same code.
package access
