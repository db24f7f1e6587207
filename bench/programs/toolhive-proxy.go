// A peer: the proxy of ToolHive, put together as `thv proxy` does. That command cannot get keys from this machine.
// Arguments: its port, the URL behind it, the issuer.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/stacklok/toolhive/pkg/auth"
	"github.com/stacklok/toolhive/pkg/bodylimit"
	"github.com/stacklok/toolhive/pkg/transport/middleware/origin"
	"github.com/stacklok/toolhive/pkg/transport/proxy/transparent"
	"github.com/stacklok/toolhive/pkg/transport/types"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	port, _ := strconv.Atoi(os.Args[1])
	check, info, err := auth.GetAuthenticationMiddleware(ctx, &auth.TokenValidatorConfig{
		Issuer: os.Args[3], JWKSURL: os.Args[3] + "/jwks", Audience: "bench", AllowPrivateIP: true, InsecureAllowHTTP: true,
	})
	if err != nil {
		panic(err)
	}
	proxy := transparent.NewTransparentProxy("127.0.0.1", port, os.Args[2], nil, info, nil, false, false, "", nil, nil, "", false,
		types.NamedMiddleware{Name: "body", Function: bodylimit.Middleware(0)},
		types.NamedMiddleware{Name: "origin", Function: origin.NewHandler(origin.ResolveAllowedOrigins("127.0.0.1", port, nil))},
		types.NamedMiddleware{Name: "auth", Function: check})
	if err := proxy.Start(ctx); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	<-ctx.Done()
}
