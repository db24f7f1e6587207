import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { redactSecrets } from './secret-redaction.ts'
import type { ServerAnswer } from './server-exchange.ts'
import { formEncoded } from './token-endpoint-client.ts'

/** The members of an error that are shown to people. */
const texts = ['error', 'error_description', 'msg', 'message', 'detail'] as const

/** What is done about these depends on every letter, and a secret may be as short as one. */
const knownCodes: ReadonlySet<string> = new Set([
  'access_denied',
  'authorization_pending',
  'expired_token',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'server_error',
  'slow_down',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
])

/**
 * An answer whose error texts do not repeat any of `secrets`: servers quote what they were sent, as it was or as it stood in
 * the form, and error texts end in logs. Tokens that the answer brings are as they were.
 */
export function withoutEchoes(answer: ServerAnswer, secrets: readonly string[]): ServerAnswer {
  const { json } = answer
  if (!isJsonObject(json)) return answer
  const forms = secrets.flatMap((secret) => [
    secret,
    formEncoded(secret),
    formEncoded(secret).replaceAll('+', '%20'),
  ])
  const clean = (text: string): string => redactSecrets(text, forms, '[secret]')
  const cleaned = texts.flatMap((name) => {
    const text = json[name]
    const isMeant = typeof text === 'string' && !(name === 'error' && knownCodes.has(text))
    return isMeant ? [[name, clean(text)] as const] : []
  })
  return { ...answer, json: { ...json, ...Object.fromEntries(cleaned) } }
}
