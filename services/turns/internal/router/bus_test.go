package router_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/internal/router"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Holds survive in the values of the service.
func TestOverTheBus(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "turns", Values: true})
	conn := srv.Connect(t, "turns")
	models := catalog{}
	one := models.add("odd name/a.b c/"+string(make([]byte, 200)), fails(model.Passing, time.Hour))
	for range 2 { // the second is another process, or the next start
		r := router.New(router.Config{Catalog: models, Store: conn, Log: conn.Log()})
		_, err := r.Generate(t.Context(), []string{one.ref}, func(provider.Model) model.Request { return model.Request{} }, func(string) {})
		if err == nil {
			t.Fatal("it answered")
		}
	}
	if one.asked != 1 {
		t.Errorf("it was asked %d times", one.asked)
	}
}
