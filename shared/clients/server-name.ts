/** A server as named to a client. */
export interface NamedServer {
  /** The client's name for it. */
  name: string
  url: string
}

/** Leaves room for a suffix within the 64 characters that every client accepts. */
const maxLength = 58

/**
 * Derives a name that every client accepts: from the name of the web app, `Field Notes` becomes `field-notes`; without one, or if it has
 * no letter of ASCII, from the server's host: `mcp.example.com` becomes `example-com`.
 */
export function serverNameOf(serverUrl: string, appName = ''): string {
  const word = appName
    .normalize('NFKD')
    .replaceAll(/\p{M}+|['\u2019]/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, maxLength)
    .replaceAll(/^-+|-+$/g, '')
  if (/[a-z]/.test(word)) return word
  const { hostname, port } = new URL(serverUrl)
  const labels = hostname.replaceAll(/^\[|\]$/g, '').split(/[.:]+/)
  if (labels.length > 2 && /^(?:mcp|www)$/.test(labels[0] ?? '')) labels.shift()
  const name = [...labels, port].filter((part) => part !== '').join('-')
  return (/^[A-Za-z0-9]/.test(name) ? name : `server-${name}`).slice(0, maxLength)
}
