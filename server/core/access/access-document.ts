import { z } from 'zod'
import { type DocumentReading, list, members, named, readDocument, text, texts } from '../document.ts'
import { type AccessRule, lowerCaseAscii } from './access-rules.ts'

export type AccessReading = DocumentReading<readonly AccessRule[]>

/**
 * Parses `{ "rules": [...] }`. Unknown members are faults, since a misspelled condition would match every user. Nothing can be called
 * without `toolScope`, so every list of scopes must contain it.
 */
export function readAccessDocument(document: unknown, toolScope: string): AccessReading {
  const rules = z.array(ruleOf(toolScope), 'must be an array.').max(1000, 'has more than 1000 members.')
  return readDocument(
    members({ rules }).transform((given) => given.rules),
    document,
  )
}

const email = text
  .regex(/^[^@]+@[^@]+$/, 'must be an address or a pattern such as *@example.com.')
  .transform(lowerCaseAscii)

const claimValue = z.union([text, z.number(), z.boolean()], 'must be a text, a number, true or false.')

const claims = named(list(claimValue, { what: 'texts, numbers, true or false' }), {
  // Users can change user_metadata themselves.
  form: /^(?!(?:raw_)?user_meta_?data(?:\.|$)).{1,500}$/s,
  fault: ': everyone can write their own user_metadata. Use app_metadata, or the name of another claim.',
}).refine((given) => Object.keys(given).length > 0, 'must name a claim.')

// Anything else would match no client, and a deny rule for it would deny nothing.
const client = text.regex(
  /^(?!.*:443$)[!-)+-~]+$/,
  'must be a client id, or a host such as claude.ai: without *, without :443, and in its xn-- form if it has other letters.',
)

const conditions = members({
  email: list(email, { what: 'addresses or patterns' }).exactOptional(),
  sub: texts.exactOptional(),
  provider: texts.exactOptional(),
  client: list(client, { what: 'texts' }).exactOptional(),
  claim: claims.exactOptional(),
})

const toolPatterns = list(
  text.refine(
    (given) => given !== '@writes',
    'belongs to the scopes of tools; name tools here, such as delete_*.',
  ),
  { what: 'texts' },
)

const tools = members({ allow: toolPatterns.exactOptional(), deny: toolPatterns.exactOptional() }).refine(
  (given) => Object.keys(given).length > 0,
  'must have allow, deny or both.',
)

/** Validates a rule: either `allow` or `deny`. What an `allow` rule grants is invalid in a `deny` rule. */
function ruleOf(toolScope: string): z.ZodType<AccessRule> {
  const scopes = texts.refine(
    (given) => given.includes(toolScope),
    `must have ${toolScope}: without it nothing can be called.`,
  )
  return members({
    allow: conditions.exactOptional(),
    deny: conditions.exactOptional(),
    scopes: scopes.exactOptional(),
    tools: tools.exactOptional(),
  }).transform(({ allow, deny, ...narrowing }, context): AccessRule => {
    if (allow && !deny) return { effect: 'allow', conditions: allow, ...narrowing }
    if (!deny || allow) {
      context.addIssue('must have either allow or deny.')
      return z.NEVER
    }
    for (const name of Object.keys(narrowing))
      context.addIssue({ code: 'custom', path: [name], message: 'has no meaning in a deny rule; remove it.' })
    return { effect: 'deny', conditions: deny }
  })
}
