// Package offer decides which tools of the catalogue a model is offered, and how it is told about them: providers differ in
// what they take for the name and for the JSON Schema of a tool, and one tool that a provider does not like spoils the whole
// request. It is pure.
//
// It promises of what Portable gives, whatever an executor has published:
//
//   - Names match ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$ and are unique. A name that had to be changed ends in a hash of the
//     original one; so do names that would be the same. Names leads back.
//   - Parameters are a JSON Schema of type object with properties, without references, of bounded depth and size, in the
//     words that the dialect knows. At its top stands no choice of schemas.
//   - What was left out of a schema is said in the description, as far as there is room: a model that keeps to the
//     description sends arguments that the original schema accepts. Arguments are checked against the original one, elsewhere.
//   - There are at most MaxTools of them, always the same ones.
//   - What is portable already comes back as it is.
//
// Plain is for a program that has the catalogue itself: it changes nothing.
//
// What it is given is never written to, and nothing fails: a schema that is none becomes an object of which nothing is known.
package offer
