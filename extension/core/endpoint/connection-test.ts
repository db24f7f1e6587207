/** The result of asking `/mcp` with the token. */
export type ConnectionTest =
  | { kind: 'none' }
  | { kind: 'running' }
  | { kind: 'passed'; server: string | undefined; tools: readonly string[]; milliseconds: number }
  /** `challenge`: error and error_description of `WWW-Authenticate`, as the server says them. */
  | { kind: 'refused'; status: number; error: string | undefined; description: string | undefined }
  /** An answer that is not MCP, or a JSON-RPC error. */
  | { kind: 'not-mcp'; status: number; detail: string | undefined }
  | { kind: 'no-permission'; host: string }
  | { kind: 'unreachable'; host: string }
