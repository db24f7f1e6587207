import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** The scope that lets a client call tools as the user. */
export const toolScope = 'mcp'

/** Requested out of habit by OpenID Connect clients; granted on request, without effect. */
const offlineScope = 'offline_access'

/** Scopes that clients request from other servers by habit, or that have a meaning here: a tools module cannot use them. */
export const reservedScopes: readonly string[] = [
  toolScope,
  offlineScope,
  'openid',
  'profile',
  'email',
  'address',
  'phone',
]

/** The scopes of this server in a fixed order, and rules for them. Scope strings are joined by single spaces, as on the wire. */
export class ScopeCatalogue {
  readonly #labels: ReadonlyMap<string, string>
  /** The owner of the tools that the tool scope is for; undefined: this server. Tools of others need not act as the user. */
  readonly toolsOf: string | undefined
  /** Listed in protected resource metadata. `offline_access` never is (MCP 2026-07-28 authorization). */
  readonly resource: readonly string[]
  readonly authorizationServer: readonly string[]
  /** Those that a user can leave out. */
  readonly optional: readonly string[]

  /** Adds `extra` scopes, with plain descriptions by name, to the tool scope. */
  constructor(extra: Readonly<Record<string, string>> = {}, toolsOf?: string) {
    this.toolsOf = toolsOf
    this.#labels = new Map(Object.entries(extra))
    this.optional = [...this.#labels.keys()]
    this.resource = [toolScope, ...this.optional]
    this.authorizationServer = [...this.resource, offlineScope]
  }

  /** The known scopes in our order, always with the tool scope; drops others (RFC 6749 section 3.3): clients send them by habit. */
  grant(requested = ''): string {
    const asked = new Set([toolScope, ...requested.split(' ')])
    return this.authorizationServer.filter((scope) => asked.has(scope)).join(' ')
  }

  /**
   * Returns the scope of a refreshed token: never more than the grant's, less when `requested` is a useful subset.
   *
   * As at authorization, unknown scopes are dropped, and a request without any of the resource's scopes keeps them all: clients
   * repeat their original request there, and must not be signed out for it.
   */
  narrow(granted: string, requested = ''): string {
    const asked = new Set(requested.split(' '))
    const kept = granted.split(' ').filter((scope) => asked.has(scope))
    return kept.some((scope) => this.resource.includes(scope)) ? kept.join(' ') : granted
  }

  /** Returns the scopes of `scope` that a user can leave out. */
  optionalOf(scope: string): string[] {
    return scope.split(' ').filter((name) => this.#labels.has(name))
  }

  /** Describes what `scope` allows, in plain words for the user who is asked, one text per scope; `tools` is the text of the tool scope. */
  describe(scope: string, tools: string): string[] {
    return scope.split(' ').flatMap((name) => (name === toolScope ? tools : (this.#labels.get(name) ?? [])))
  }
}

/** Throws `invalid_scope` (RFC 6749 section 3.3, appendix A.4). Allows several blanks between two scopes. */
export function requireScopeText(scope = ''): void {
  if (/^[\x20\x21\x23-\x5B\x5D-\x7E]*$/.test(scope)) return
  throw new OAuthError('invalid_scope', 'scope contains an invalid character.')
}

/** Undefined `allowed`: all of `scope`. Never drops `offline_access`. */
export function limitScope(scope: string, allowed: readonly string[] | undefined): string {
  if (allowed === undefined) return scope
  return scope
    .split(' ')
    .filter((name) => name === offlineScope || allowed.includes(name))
    .join(' ')
}

/** Returns the scope of a token that still counts: its grant may have been narrowed since. */
export function heldScope(grant: { scope: string }, token: string): string {
  return grant.scope === token ? token : limitScope(token, grant.scope.split(' '))
}
