import type { Profile } from '../session/session-provider.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { matchesEmail, matchesGlob } from './glob.ts'

/** A person as access rules see one. Everything in it has been verified. */
export interface Person extends Profile {
  sub: string
}

/** A claim's value that a rule can ask for. */
export type ClaimValue = string | number | boolean

/** Whom a rule is about. All conditions that are given must hold; a list holds when one of its members does. */
export interface AccessConditions {
  /** Patterns in lower case, with `*` for any characters but `@`. */
  email?: readonly string[]
  sub?: readonly string[]
  provider?: readonly string[]
  /** By name, or by a path of names with dots between them. An array holds when one of its members does. */
  claim?: Readonly<Record<string, readonly ClaimValue[]>>
}

/** Which tools, by patterns with `*` for any characters. */
export interface ToolPatterns {
  allow?: readonly string[]
  deny?: readonly string[]
}

/** One rule of the access file. `scopes` and `tools` narrow what the people of an `allow` rule get. */
export type AccessRule =
  | { effect: 'deny'; conditions: AccessConditions }
  | {
      effect: 'allow'
      conditions: AccessConditions
      scopes?: readonly string[]
      tools?: ToolPatterns
    }

/** What a person may do here. Undefined `scopes`: all; undefined `tools`: all. */
export interface AccessAllowed {
  kind: 'allowed'
  scopes: readonly string[] | undefined
  allowsTool: ((name: string) => boolean) | undefined
}

/** The outcome for one person. `rule` is the number of the rule that decided, from 1; undefined when none did. */
export type AccessDecision = (AccessAllowed | { kind: 'denied' }) & { rule: number | undefined }

/** Decides who may come in. */
export interface AccessPolicy {
  decide(person: Person): AccessDecision
}

/** Without an access file: everyone whom the session provider signs in may do everything. */
export const fullAccess: AccessAllowed & { rule: undefined } = {
  kind: 'allowed',
  rule: undefined,
  scopes: undefined,
  allowsTool: undefined,
}

/** Whether a tool is there for a person: it is neither listed nor callable otherwise. `scope` is what calling it takes. */
export function offersTool(
  { scopes, allowsTool }: AccessAllowed,
  name: string,
  scope: string | undefined,
): boolean {
  if (scope !== undefined && scopes?.includes(scope) === false) return false
  return allowsTool?.(name) ?? true
}

/**
 * The policy of `rules`: the first whose conditions hold decides, and nobody else comes in.
 *
 * An `allow` rule only believes an email address that the provider has verified; a `deny` rule believes any, so that
 * leaving an address unverified is no way around it.
 */
export function createAccessPolicy(rules: readonly AccessRule[]): AccessPolicy {
  const prepared = rules.map((rule) => ({
    matches: conditionTest(rule.conditions, rule.effect),
    decision: rule.effect === 'deny' ? ({ kind: 'denied' } as const) : allowedBy(rule),
  }))
  return {
    decide(person) {
      const index = prepared.findIndex(({ matches }) => matches(person))
      const decision = prepared[index]?.decision ?? { kind: 'denied' }
      return { ...decision, rule: index === -1 ? undefined : index + 1 }
    },
  }
}

function allowedBy({ scopes, tools }: Extract<AccessRule, { effect: 'allow' }>): AccessAllowed {
  if (tools === undefined) return { kind: 'allowed', scopes, allowsTool: undefined }
  const { allow = ['*'], deny = [] } = tools
  const matchesOne = (patterns: readonly string[], name: string): boolean =>
    patterns.some((pattern) => matchesGlob(pattern, name))
  return { kind: 'allowed', scopes, allowsTool: (name) => matchesOne(allow, name) && !matchesOne(deny, name) }
}

function conditionTest(
  conditions: AccessConditions,
  effect: AccessRule['effect'],
): (person: Person) => boolean {
  const { email, sub, provider, claim = {} } = conditions
  const tests: ((person: Person) => boolean)[] = []
  if (email) {
    tests.push((person) => {
      if (person.email === undefined || (effect === 'allow' && !person.emailVerified)) return false
      const address = lowerCaseAscii(person.email)
      return email.some((pattern) => matchesEmail(pattern, address))
    })
  }
  if (sub) tests.push((person) => sub.includes(person.sub))
  if (provider) tests.push(({ providers }) => providers.some((name) => provider.includes(name)))
  for (const [path, values] of Object.entries(claim)) {
    tests.push(({ claims }) => holdsOneOf(claimAt(claims, path), values))
  }
  return (person) => tests.every((test) => test(person))
}

/** Only ASCII: `toLowerCase` turns some other letters into ASCII ones, and so one address into another. */
export function lowerCaseAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** The claim of that very name, since names such as `https://example.com/roles` have dots too; otherwise the one at that path. */
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
