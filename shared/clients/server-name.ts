/** A server as a client is told about it. */
export interface NamedServer {
  /** The name that the client gives it. */
  name: string
  url: string
}

/** Leaves room for a suffix within the 64 characters that every client takes. */
const maxLength = 58

/** A name for a server that every client takes, made of its host: `mcp.example.com` becomes `example-com`. */
export function serverNameOf(serverUrl: string): string {
  const { hostname, port } = new URL(serverUrl)
  const labels = hostname.replaceAll(/^\[|\]$/g, '').split(/[.:]+/)
  if (labels.length > 2 && /^(?:mcp|www)$/.test(labels[0] ?? '')) labels.shift()
  const name = [...labels, port].filter((part) => part !== '').join('-')
  return (/^[A-Za-z0-9]/.test(name) ? name : `server-${name}`).slice(0, maxLength)
}
