import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { oauthFaults, type OAuthFault, type SignInPrompt, type UnconfirmedPage } from './login-port.ts'

/**
 * What the process that signs in tells those who follow. `owner` is random and names one sign-in, `lease` the lock that it
 * is under: a link is worth nothing when that is held by nobody, or by somebody else.
 */
export type SignInNotice =
  | { owner: string; lease: string; kind: 'prompt'; prompt: SignInPrompt }
  /** The person said no, or what there is cannot work: nobody else is to try the same again. */
  | { owner: string; kind: 'failed'; fault: OAuthFault; message: string }

/** Text of a notice. */
export function writeSignInNotice(notice: SignInNotice): string {
  return JSON.stringify(notice)
}

/** Undefined when it is none, or of a Drawbridge that writes others. */
export function parseSignInNotice(text: string): SignInNotice | undefined {
  const value = parseJsonObject(text)
  const { owner, lease, kind, fault, message, prompt } = value ?? {}
  if (typeof owner !== 'string') return undefined
  if (kind === 'failed' && typeof message === 'string') {
    // Of another version: it may know others.
    return { owner, kind, fault: oauthFaults.find((known) => known === fault) ?? 'refused', message }
  }
  if (kind !== 'prompt' || typeof lease !== 'string' || !isJsonObject(prompt)) return undefined
  const read = parsePrompt(prompt)
  return read === undefined ? undefined : { owner, lease, kind, prompt: read }
}

function parsePrompt(value: JsonObject): SignInPrompt | undefined {
  const { kind, url, completeUrl, userCode, expiresAt, askedBy } = value
  if (typeof url !== 'string') return undefined
  const unconfirmed = parseUnconfirmed(value['unconfirmed'])
  const more = unconfirmed === undefined ? {} : { unconfirmed }
  if (kind === 'browser') return { kind, url, ...more }
  if (kind !== 'device' || typeof userCode !== 'string' || typeof expiresAt !== 'number') return undefined
  return {
    kind,
    url,
    userCode,
    expiresAt,
    // Of another version: it may not say.
    askedBy: typeof askedBy === 'string' ? askedBy : 'This server',
    ...(typeof completeUrl === 'string' ? { completeUrl } : {}),
    ...more,
  }
}

function parseUnconfirmed(value: unknown): UnconfirmedPage | undefined {
  if (!isJsonObject(value)) return undefined
  const { page, namedBy } = value
  return typeof page === 'string' && typeof namedBy === 'string' ? { page, namedBy } : undefined
}
