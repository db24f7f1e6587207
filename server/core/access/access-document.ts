import { DocumentReader, isText, maxListLength, maxTextLength } from '../document-reader.ts'
import {
  type AccessConditions,
  type AccessRule,
  type ClaimValue,
  lowerCaseAscii,
  type ToolPatterns,
} from './access-rules.ts'

/** The rules of an access document, or everything that is wrong with it. */
export type AccessReading =
  | { kind: 'rules'; rules: readonly AccessRule[] }
  | { kind: 'faulty'; faults: readonly string[] }

const maxRules = 1000

/**
 * Reads an access document: `{ "rules": [...] }`. Each fault says where it is and what to write; members that are not
 * known are faults, since a condition that is spelled wrong would hold for everybody. Without `toolScope` nothing can be called, so
 * every list of scopes must have it.
 */
export function readAccessDocument(document: unknown, toolScope: string): AccessReading {
  const reader = new AccessReader(toolScope)
  const rules = reader.document(document)
  const { faults } = reader
  return faults.length > 0 ? { kind: 'faulty', faults } : { kind: 'rules', rules }
}

class AccessReader extends DocumentReader {
  readonly #toolScope: string

  constructor(toolScope: string) {
    super()
    this.#toolScope = toolScope
  }

  document(value: unknown): AccessRule[] {
    const document = this.object('the document', value, ['rules'])
    if (document === undefined) return []
    const { rules } = document
    if (!Array.isArray(rules)) {
      this.fault('rules must be an array.')
      return []
    }
    if (rules.length > maxRules) this.fault(`rules has more than ${maxRules} members.`)
    return rules.flatMap((rule, index) => this.#rule(`rules[${index}]`, rule) ?? [])
  }

  #rule(at: string, value: unknown): AccessRule | undefined {
    const rule = this.object(at, value, ['allow', 'deny', 'scopes', 'tools'])
    if (rule === undefined) return undefined
    const allows = Object.hasOwn(rule, 'allow')
    if (allows === Object.hasOwn(rule, 'deny')) {
      this.fault(`${at} must have either allow or deny.`)
      return undefined
    }
    if (!allows) {
      for (const name of ['scopes', 'tools']) {
        if (Object.hasOwn(rule, name)) this.fault(`${at}.${name} has no meaning in a deny rule; remove it.`)
      }
      return { effect: 'deny', conditions: this.#conditions(`${at}.deny`, rule['deny']) }
    }
    const conditions = this.#conditions(`${at}.allow`, rule['allow'])
    const scopes = this.optional(rule, 'scopes', (given) => this.#scopes(`${at}.scopes`, given))
    const tools = this.optional(rule, 'tools', (given) => this.#tools(`${at}.tools`, given))
    return { effect: 'allow', conditions, ...(scopes && { scopes }), ...(tools && { tools }) }
  }

  #conditions(at: string, value: unknown): AccessConditions {
    const given = this.object(at, value, ['email', 'sub', 'provider', 'claim'])
    if (given === undefined) return {}
    const email = this.optional(given, 'email', (list) => this.#emails(`${at}.email`, list))
    const sub = this.optional(given, 'sub', (list) => this.texts(`${at}.sub`, list))
    const provider = this.optional(given, 'provider', (list) => this.texts(`${at}.provider`, list))
    const claim = this.optional(given, 'claim', (claims) => this.#claims(`${at}.claim`, claims))
    return {
      ...(email && { email }),
      ...(sub && { sub }),
      ...(provider && { provider }),
      ...(claim && { claim }),
    }
  }

  #emails(at: string, value: unknown): string[] {
    const patterns = this.texts(at, value)
    for (const [index, pattern] of patterns.entries()) {
      if (!/^[^@]+@[^@]+$/.test(pattern)) {
        this.fault(`${at}[${index}] must be an address or a pattern such as *@example.com.`)
      }
    }
    return patterns.map(lowerCaseAscii)
  }

  #claims(at: string, value: unknown): Record<string, ClaimValue[]> {
    const claims = this.object(at, value)
    const entries = Object.entries(claims ?? {})
    if (claims && entries.length === 0) this.fault(`${at} must name a claim.`)
    return Object.fromEntries(
      entries.map(([path, values]) => {
        const here = `${at}[${JSON.stringify(path)}]`
        // The owner of the account can write it.
        if (/^(?:raw_)?user_meta_?data(?:\.|$)/.test(path)) {
          this.fault(`${here}: everyone can write their own user_metadata. Use app_metadata.`)
        }
        const isName = path !== '' && path.length <= maxTextLength
        if (!isName) this.fault(`${here} must have a name of 1 to ${maxTextLength} characters.`)
        return [
          path,
          this.list(here, values, isClaimValue, {
            what: 'texts, numbers, true or false',
            max: maxListLength,
          }),
        ]
      }),
    )
  }

  #scopes(at: string, value: unknown): string[] {
    const scopes = this.texts(at, value)
    if (scopes.length > 0 && !scopes.includes(this.#toolScope)) {
      this.fault(`${at} must have ${this.#toolScope}: without it nothing can be called.`)
    }
    return scopes
  }

  #tools(at: string, value: unknown): ToolPatterns {
    const given = this.object(at, value, ['allow', 'deny'])
    if (given === undefined) return {}
    if (Object.keys(given).length === 0) this.fault(`${at} must have allow, deny or both.`)
    const allow = this.optional(given, 'allow', (list) => this.texts(`${at}.allow`, list))
    const deny = this.optional(given, 'deny', (list) => this.texts(`${at}.deny`, list))
    return { ...(allow && { allow }), ...(deny && { deny }) }
  }
}

function isClaimValue(value: unknown): value is ClaimValue {
  return isText(value) || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}
