package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/url"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// runClient calls each tool that a line of stdin names, as a client of the SDK that connects to the server at address for the first
// one. Writes one JSON object per line: authorize with a URL when it needs a sign-in, which the next line of stdin answers with the
// browser's final address, and text or failed for each call. Without an id it registers itself.
func runClient(address, id string) {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	say := func(name, text string) { _ = out.Encode(map[string]string{name: text}) }

	const redirect = "http://127.0.0.1:4711/callback"
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         redirect,
		RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "Go client",
				RedirectURIs:            []string{redirect},
				GrantTypes:              []string{"authorization_code", "refresh_token"},
				TokenEndpointAuthMethod: "none",
			},
		},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			say("authorize", args.URL)
			lines.Scan()
			final, err := url.Parse(lines.Text())
			if err != nil {
				return nil, err
			}
			query := final.Query()
			if reason := query.Get("error"); reason != "" {
				return nil, errors.New(reason)
			}
			return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
		},
	}
	if id != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-client", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: address, OAuthHandler: handler}
	var session *mcp.ClientSession
	for lines.Scan() {
		name := lines.Text()
		if session == nil {
			if session, err = client.Connect(context.Background(), transport, nil); err != nil {
				session = nil
				say("failed", err.Error())
				continue
			}
		}
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name})
		if err != nil {
			say("failed", err.Error())
			// The SDK ends the connection.
			session = nil
		} else {
			say("text", result.Content[0].(*mcp.TextContent).Text)
		}
	}
}
