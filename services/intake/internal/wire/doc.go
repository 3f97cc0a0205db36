// Package wire has the shapes that cross intake's borders, over HTTP and as micro endpoints, and reads them strictly: a
// field that nobody knows is an error that names it.
package wire
