package main

// tell gives news to whoever waits for some.
func tell(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}
