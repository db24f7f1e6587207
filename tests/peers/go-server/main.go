// A server of the official Go SDK for the tests of the bridge and of the gateway, at /mcp of a free port of 127.0.0.1.
// Prints its URL when it listens, and exits when stdin ends. With -issuer it accepts calls only through that Drawbridge, whose
// upstream has "identity": ["bearer"]. With -client it is a client instead: see runClient.
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

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoInput struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, input echoInput) (*mcp.CallToolResult, any, error) {
	return text(input.Text), nil, nil
}

type countInput struct {
	To int `json:"to"`
}

func count(ctx context.Context, request *mcp.CallToolRequest, input countInput) (*mcp.CallToolResult, any, error) {
	for done := 1; done <= input.To; done++ {
		progress := &mcp.ProgressNotificationParams{
			ProgressToken: request.Params.GetProgressToken(),
			Progress:      float64(done),
			Total:         float64(input.To),
		}
		if err := request.Session.NotifyProgress(ctx, progress); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("Counted to %d.", input.To)), nil, nil
}

func whoami(_ context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	return text(fmt.Sprintf("You are %s.", request.Extra.TokenInfo.Extra["email"])), nil, nil
}

type hoursInput struct {
	X string `json:"x,omitempty"`
}

func openingHours(context.Context, *mcp.CallToolRequest, hoursInput) (*mcp.CallToolResult, any, error) {
	return text("Open from 9 to 5."), nil, nil
}

func deleteEverything(context.Context, *mcp.CallToolRequest, hoursInput) (*mcp.CallToolResult, any, error) {
	return text("Deleted everything."), nil, nil
}

func text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// throughTheDoor answers 401 to every request without a token of issuer for audience.
func throughTheDoor(issuer, audience string) func(http.Handler) http.Handler {
	keys, err := keyfunc.NewDefault([]string{issuer + "/oauth/jwks"})
	if err != nil {
		log.Fatal(err)
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(token, claims, keys.Keyfunc, jwt.WithValidMethods([]string{"ES256"}),
			jwt.WithIssuer(issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
		}
		expires, _ := claims.GetExpirationTime()
		subject, _ := claims.GetSubject()
		return &auth.TokenInfo{UserID: subject, Expiration: expires.Time, Extra: claims}, nil
	}
	return auth.RequireBearerToken(verify, nil)
}

func main() {
	stateless := flag.Bool("stateless", false, "serve without sessions, which the SDK also does in revision 2026-07-28")
	address := flag.String("address", "127.0.0.1:0", "host and port to listen on")
	issuer := flag.String("issuer", "", "BASE_URL of the Drawbridge in front; without it everybody may call")
	clientOf := flag.String("client", "", "URL of a server to be a client of")
	clientID := flag.String("client-id", "", "id of that client")
	flag.Parse()
	if *clientOf != "" {
		runClient(*clientOf, *clientID)
		return
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its text"}, echo)
	handler := http.Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: *stateless},
	))

	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	url := fmt.Sprintf("http://%s/mcp", listener.Addr())
	if *issuer != "" {
		mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts, with progress"}, count)
		mcp.AddTool(server, &mcp.Tool{Name: "whoami", Description: "Says who calls"}, whoami)
		mcp.AddTool(server, &mcp.Tool{Name: "opening_hours", Description: "Harmless"}, openingHours)
		mcp.AddTool(server, &mcp.Tool{Name: "delete_everything", Description: "Not harmless"}, deleteEverything)
		handler = throughTheDoor(*issuer, url)(handler)
	}
	http.Handle("/mcp", handler)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(url)
	log.Fatal(http.Serve(listener, nil))
}
