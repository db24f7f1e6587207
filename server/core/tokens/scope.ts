import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** The scope that lets a client call tools as the user. */
export const toolScope = 'mcp'

const toolScopeLabel = 'Use the tools of the web app as you: read and change what you can there'

/** Requested out of habit by OpenID Connect clients; granted to every client that names it, without effect. */
const offlineScope = 'offline_access'

/** Names that clients send to other servers by habit, or that mean something here: a tools module cannot have them. */
export const reservedScopes: readonly string[] = [
  toolScope,
  offlineScope,
  'openid',
  'profile',
  'email',
  'address',
  'phone',
]

/** The scopes of this server, in one order, and what follows from them. Scopes are joined by single spaces, as on the wire. */
export interface ScopeCatalogue {
  /** Named in protected resource metadata. `offline_access` never is (MCP 2026-07-28 authorization). */
  resource: readonly string[]
  /** Named in authorization server metadata. */
  authorizationServer: readonly string[]
  /** What a challenge asks for when no operation is known yet, and what a client gets that asked for nothing known. */
  initial: string
  /**
   * Scopes granted for what a client asked: the known ones in our order, unknown ones dropped (RFC 6749 section 3.3), the
   * initial one always. Clients send OpenID scopes by habit; that must not fail.
   */
  grant(requested: string | undefined): string
  /**
   * Scope of a refreshed token: never more than the grant's, less when `requested` names a part of it that is of use.
   *
   * As at authorization, unknown scopes are dropped, and a request that names none of the resource's scopes keeps them
   * all: clients repeat there what they once asked for, and must not be signed out for it.
   */
  narrow(granted: string, requested: string | undefined): string
  /** What the scopes of `scope` allow, in plain words for the person who is asked, one text each. */
  describe(scope: string): string[]
}

/** A {@link ScopeCatalogue} of the tool scope and of `extra` ones: what each of them allows, by name, in plain words. */
export function createScopeCatalogue(extra: Readonly<Record<string, string>> = {}): ScopeCatalogue {
  const labels = new Map([[toolScope, toolScopeLabel], ...Object.entries(extra)])
  const resource = [...labels.keys()]
  const authorizationServer = [...resource, offlineScope]
  return {
    resource,
    authorizationServer,
    initial: toolScope,
    grant(requested) {
      const asked = new Set([toolScope, ...(requested ?? '').split(' ')])
      return authorizationServer.filter((scope) => asked.has(scope)).join(' ')
    },
    narrow(granted, requested) {
      const asked = new Set((requested ?? '').split(' '))
      const kept = granted.split(' ').filter((scope) => asked.has(scope))
      return kept.some((scope) => labels.has(scope)) ? kept.join(' ') : granted
    },
    describe: (scope) => scope.split(' ').flatMap((name) => labels.get(name) ?? []),
  }
}

/**
 * Whether `text` may be a `scope` parameter: printable ASCII without `"` and `\` (RFC 6749 section 3.3 and appendix A.4).
 * More than one blank between two scopes is let pass.
 */
export function isScopeText(text: string): boolean {
  return /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/.test(text)
}

/** What a request with another `scope` is told. */
export const unreadableScope = {
  error: 'invalid_scope',
  description: 'scope holds a character that no scope has.',
} as const

/** Throws `invalid_scope` unless `scope` is omitted or {@link isScopeText}. */
export function requireScopeText(scope: string | undefined): void {
  if (scope !== undefined && !isScopeText(scope)) {
    throw new OAuthError(unreadableScope.error, unreadableScope.description)
  }
}

/** The part of `scope` that somebody may have who gets the scopes `allowed`; undefined: all of it. */
export function limitScope(scope: string, allowed: readonly string[] | undefined): string {
  if (allowed === undefined) return scope
  return scope
    .split(' ')
    .filter((name) => name === offlineScope || allowed.includes(name))
    .join(' ')
}
