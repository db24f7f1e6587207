/** A session in a cookie jar, by the name of its cookie. */
export interface NamedSessionCookie {
  /** Base name without a chunk number, as `readSessionCookie` expects. */
  name: string
  /** The project's part of the name; `127` or `localhost` for local projects. */
  projectRef: string
}

/**
 * Returns whether a cookie is the session's, `name`, or a chunk of it: `name.0`, `name.1` and so on, without leading
 * zeros. `name.01`, `name.` and `name-code-verifier` do not belong to it.
 */
export function isSessionCookieName(cookieName: string, options: { name: string }): boolean {
  const { name } = options
  if (cookieName === name) return true
  return cookieName.startsWith(`${name}.`) && /^(?:0|[1-9]\d*)$/.test(cookieName.slice(name.length + 1))
}

/**
 * Lists the sessions with a default name (`sb-<ref>-auth-token`, chunked or not) in order of first
 * appearance. For a popup that shows every project of a site; a server reads one configured name only. Does not check whether
 * a session can be decoded.
 */
export function findSessionCookieNames(names: readonly string[]): NamedSessionCookie[] {
  const found = new Map<string, NamedSessionCookie>()
  for (const cookieName of names) {
    const [, projectRef] = /^sb-(.+)-auth-token(?:\.(?:0|[1-9]\d*))?$/.exec(cookieName) ?? []
    if (projectRef === undefined) continue
    const name = `sb-${projectRef}-auth-token`
    if (!found.has(name)) found.set(name, { name, projectRef })
  }
  return [...found.values()]
}

/**
 * Returns the name that client libraries give a project's session cookie by default, from the first label of the
 * host: `https://<ref>.supabase.co` gives `sb-<ref>-auth-token`, and every local project on 127.0.0.1 shares
 * `sb-127-auth-token`. Throws `TypeError` if the text is not a URL.
 */
export function defaultSessionCookieName(projectUrl: string): string {
  return `sb-${new URL(projectUrl).hostname.split('.', 1)[0] ?? ''}-auth-token`
}
