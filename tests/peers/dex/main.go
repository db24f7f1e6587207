// Command dex serves dex with one client and two accounts on a free loopback port, and keeps everything in memory.
// It prints its issuer and exits when its standard input ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	web := flag.String("web", "", "the web folder of dex's sources")
	callback := flag.String("callback", "", "the redirect URI of the client")
	life := flag.Duration("life", time.Hour, "how long tokens are good")
	flag.Parse()
	if err := serve(*web, *callback, *life); err != nil {
		log.Fatal(err)
	}
}

func serve(web, callback string, life time.Duration) error {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	store := memory.New(logger)
	store = storage.WithStaticClients(store, []storage.Client{{
		ID:           "drawbridge",
		Secret:       os.Getenv("DEX_CLIENT_SECRET"),
		Name:         "Drawbridge",
		RedirectURIs: []string{callback},
	}})
	store = storage.WithStaticConnectors(store, []storage.Connector{
		{ID: server.LocalConnector, Name: "Email", Type: server.LocalConnector},
	})
	hash, err := bcrypt.GenerateFromPassword([]byte(os.Getenv("DEX_PASSWORD")), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	for _, name := range []string{"ada", "bea"} {
		password := storage.Password{Email: name + "@example.com", Hash: hash, Username: name, UserID: "user-" + name}
		if err := store.CreatePassword(password); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	issuer := fmt.Sprintf("http://%s/dex", listener.Addr())
	dex, err := server.NewServer(context.Background(), server.Config{
		Issuer:             issuer,
		Storage:            store,
		SkipApprovalScreen: true,
		IDTokensValidFor:   life,
		Web:                server.WebConfig{Dir: web},
		Logger:             logger,
		PrometheusRegistry: prometheus.NewRegistry(),
	})
	if err != nil {
		return err
	}
	fmt.Println(issuer)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, dex)
}
