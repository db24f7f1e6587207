// A server of the official Go SDK for the tests of the bridge: one tool, `echo`, at /mcp of a free port of 127.0.0.1.
// Prints its URL when it listens, and ends with its stdin.
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

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoInput struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, input echoInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: input.Text}}}, nil, nil
}

func main() {
	stateless := flag.Bool("stateless", false, "serve without sessions, which the SDK also does in revision 2026-07-28")
	address := flag.String("address", "127.0.0.1:0", "host and port to listen on")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its text"}, echo)
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: *stateless},
	)
	http.Handle("/mcp", handler)

	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
