import { tokenNameOf } from '../tokens/personal-token.ts'
import type { Profile } from '../session/session-provider.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isUrl } from '@drawbridge/shared/url.ts'
import { isAllowed, matchesEmail } from './glob.ts'

/** A user as access rules see them. All of it is verified. */
export interface Person extends Profile {
  sub: string
  /** The client that acts for them; undefined with a credential of the provider. */
  clientId?: string | undefined
}

type ClaimValue = string | number | boolean

/** Conditions of a rule. All given conditions must hold; a list holds when one of its members matches. */
interface AccessConditions {
  /** Lower-case patterns, with `*` for any characters except `@`. */
  email?: readonly string[]
  sub?: readonly string[]
  provider?: readonly string[]
  /** Client ids, or hosts of ids that are URLs of metadata documents. */
  client?: readonly string[]
  /** Claims by name, or by a dotted path of names. An array holds when one of its members matches. */
  claim?: Readonly<Record<string, readonly ClaimValue[]>>
}

interface ToolPatterns {
  allow?: readonly string[]
  deny?: readonly string[]
}

/** One rule of the access file. `scopes` and `tools` narrow what an `allow` rule grants. */
export type AccessRule =
  | { effect: 'deny'; conditions: AccessConditions }
  | {
      effect: 'allow'
      conditions: AccessConditions
      scopes?: readonly string[]
      tools?: ToolPatterns
    }

/** A user's permissions. Undefined `scopes`: all; undefined `tools`: all. */
export interface AccessAllowed {
  kind: 'allowed'
  scopes: readonly string[] | undefined
  allowsTool: ((name: string) => boolean) | undefined
}

/** Why a user is refused: a `deny` rule, no matching rule, or (`address_not_verified`) none that matches an unverified address. */
export type DenialReason = 'deny_rule' | 'no_rule' | 'address_not_verified'

/** The decision about one user. `rule` is the number of the deciding rule, from 1; undefined when none decided. */
export type AccessDecision = (AccessAllowed | { kind: 'denied'; reason: DenialReason }) & {
  rule: number | undefined
}

export interface AccessPolicy {
  decide(person: Person): AccessDecision
  /** Returns whether any rule could offer a user this tool, or without a name any tool at all. `scope` as in {@link offersTool}. */
  mayOffer(name: string | undefined, scope: string | undefined): boolean
}

/** Applies without an access file: every user the session provider signs in may do everything. */
export const fullAccess: AccessAllowed & { rule: undefined } = {
  kind: 'allowed',
  rule: undefined,
  scopes: undefined,
  allowsTool: undefined,
}

/** Returns whether a user may see and call a tool: others are neither listed nor callable. `scope` is required for every call. */
export function offersTool(
  { scopes, allowsTool }: AccessAllowed,
  name: string,
  scope: string | undefined,
): boolean {
  if (scope !== undefined && scopes?.includes(scope) === false) return false
  return allowsTool?.(name) ?? true
}

/**
 * Creates the policy of `rules`: the first matching rule decides; without a match the user is refused.
 *
 * An `allow` rule trusts only an email address that the provider has verified, and claims that it still makes. A `deny` rule trusts
 * any, so that leaving an address unverified does not get around it.
 */
export function createAccessPolicy(rules: readonly AccessRule[]): AccessPolicy {
  const prepared = rules.map((rule) => ({
    matches: conditionTest(rule.conditions, rule.effect),
    allowed: rule.effect === 'deny' ? undefined : allowedBy(rule),
  }))
  // A rule without conditions decides for everyone who reaches it.
  const last = rules.findIndex(({ conditions }) => Object.keys(conditions).length === 0)
  const reachable = last === -1 ? prepared : prepared.slice(0, last + 1)
  const indexFor = (person: Person): number => prepared.findIndex(({ matches }) => matches(person))
  return {
    decide(person) {
      const index = indexFor(person)
      const allowed = prepared[index]?.allowed
      if (allowed) return { ...allowed, rule: index + 1 }
      if (prepared[indexFor({ ...person, emailVerified: true })]?.allowed) {
        return { kind: 'denied', reason: 'address_not_verified', rule: undefined }
      }
      return index === -1
        ? { kind: 'denied', reason: 'no_rule', rule: undefined }
        : { kind: 'denied', reason: 'deny_rule', rule: index + 1 }
    },
    mayOffer: (name, scope) =>
      reachable.some(({ allowed }) => allowed && (name === undefined || offersTool(allowed, name, scope))),
  }
}

function allowedBy({ scopes, tools }: Extract<AccessRule, { effect: 'allow' }>): AccessAllowed {
  if (tools === undefined) return { kind: 'allowed', scopes, allowsTool: undefined }
  const { allow = ['*'], deny = [] } = tools
  return { kind: 'allowed', scopes, allowsTool: (name) => isAllowed({ allow, deny }, name) }
}

function conditionTest(
  conditions: AccessConditions,
  effect: AccessRule['effect'],
): (person: Person) => boolean {
  const { email, sub, provider, client, claim = {} } = conditions
  const tests: ((person: Person) => boolean)[] = []
  if (email) {
    tests.push((person) => {
      if (person.email === undefined || (effect === 'allow' && person.emailVerified !== true)) return false
      const given = lowerCaseAscii(person.email)
      const address = effect === 'deny' ? asDelivered(given) : given
      return email.some((pattern) => matchesEmail(pattern, address))
    })
  }
  if (sub) tests.push((person) => sub.includes(person.sub))
  if (provider) tests.push(({ providers }) => providers.some((name) => provider.includes(name)))
  if (client) tests.push(({ clientId }) => clientId !== undefined && isClient(clientId, client))
  for (const [path, values] of Object.entries(claim)) {
    tests.push(({ claims, formerClaims = {} }) =>
      [claims, ...(effect === 'deny' ? [formerClaims] : [])].some((of) =>
        holdsOneOf(claimAt(of, path), values),
      ),
    )
  }
  return (person) => tests.every((test) => test(person))
}

/** Names all personal tokens in a rule, in place of a client. */
const personalTokens = 'personal_token'

/** A client's name proves nothing; its id does, and so does the host that serves its metadata document. */
function isClient(clientId: string, named: readonly string[]): boolean {
  const host = isUrl(clientId) ? new URL(clientId).host : undefined
  const kind = tokenNameOf(clientId) === undefined ? undefined : personalTokens
  return named.some((name) => name === clientId || name === kind || lowerCaseAscii(name) === host)
}

/** The part after the last `@`, as mail delivery reads it: a quoted `@` or a final dot does not get around a denied domain. */
function asDelivered(address: string): string {
  const at = address.lastIndexOf('@')
  return address.slice(0, at).replaceAll('@', ' ') + address.slice(at).replace(/\.$/, '')
}

/** Lower-cases ASCII letters only: `toLowerCase` maps some other letters to ASCII, and so one address to another. */
export function lowerCaseAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Returns the claim of exactly that name, as in `https://example.com/roles`; otherwise the one at that dotted path. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

function holdsOneOf(claim: unknown, values: readonly ClaimValue[]): boolean {
  const held: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  return held.some((value) => values.includes(value as ClaimValue))
}
