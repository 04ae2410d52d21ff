// A server that sends all queued calls before it ends: on SIGTERM, on Ctrl-C, and if it cannot listen.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	analytics "github.com/sluice-dev/sluice/clients/go"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err) // the client is closed
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	client := analytics.New("shop-write-key")
	client.Endpoint = os.Getenv("SLUICE_ENDPOINT")
	client.CloseTimeout = 15 * time.Second // plus 1 s and Shutdown's 10 s: less than the 30 s until SIGKILL
	server := &http.Server{Addr: "localhost:" + os.Getenv("PORT"), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := client.Page(&analytics.Page{AnonymousId: "visitor-1", Name: r.URL.Path}); err != nil {
			log.Print(err)
		}
	})}

	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return errors.Join(err, client.Close())
	case <-ctx.Done():
		stop() // a second signal ends the process at once
	}
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(limit), client.Close()) // Close comes last: open requests still make calls
}
