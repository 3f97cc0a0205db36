// Package sim plays the services' machines in their shell on a bus in memory.
package sim
