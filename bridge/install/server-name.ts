import { InstallError } from './install-error.ts'

/** A name for a server that every client takes, made of its host: `mcp.example.com` becomes `example-com`. */
export function serverNameOf(serverUrl: string): string {
  const { hostname, port } = new URL(serverUrl)
  const labels = hostname.replaceAll(/^\[|\]$/g, '').split(/[.:]+/)
  if (labels.length > 2 && /^(?:mcp|www)$/.test(labels[0] ?? '')) labels.shift()
  const name = [...labels, port].filter((part) => part !== '').join('-')
  return /^[A-Za-z0-9]/.test(name) ? name : `server-${name}`
}

/** Refuses a name that a client would not take, with {@link InstallError}: Codex and Claude Code allow no more than this. */
export function checkServerName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return
  throw new InstallError(
    'usage',
    `${JSON.stringify(name)} cannot be the name of a server.`,
    'Give --name letters, digits, "-" and "_", up to 64 of them.',
  )
}
