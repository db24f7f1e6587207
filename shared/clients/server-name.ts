/** A server as named to a client. */
export interface NamedServer {
  /** The client's name for it. */
  name: string
  url: string
}

/** Leaves room for a suffix within the 64 characters that every client accepts. */
const maxLength = 58

/** Derives a name that every client accepts from the server's host: `mcp.example.com` becomes `example-com`. */
export function serverNameOf(serverUrl: string): string {
  const { hostname, port } = new URL(serverUrl)
  const labels = hostname.replaceAll(/^\[|\]$/g, '').split(/[.:]+/)
  if (labels.length > 2 && /^(?:mcp|www)$/.test(labels[0] ?? '')) labels.shift()
  const name = [...labels, port].filter((part) => part !== '').join('-')
  return (/^[A-Za-z0-9]/.test(name) ? name : `server-${name}`).slice(0, maxLength)
}
