import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { OAuthFault, SignInPrompt } from './login-port.ts'

/** What the process that signs in tells those who follow. `owner` is random and names one sign-in. */
export type SignInNotice =
  | { owner: string; kind: 'prompt'; prompt: SignInPrompt }
  /** The person said no, or what there is cannot work: nobody else is to try the same again. */
  | { owner: string; kind: 'failed'; fault: OAuthFault; message: string }

/** Text of a notice. */
export function writeSignInNotice(notice: SignInNotice): string {
  return JSON.stringify(notice)
}

/** Undefined when it is none, or of a Drawbridge that writes others. */
export function parseSignInNotice(text: string): SignInNotice | undefined {
  const value = parseJsonObject(text)
  const { owner, kind, fault, message, prompt } = value ?? {}
  if (typeof owner !== 'string') return undefined
  if (kind === 'failed' && typeof fault === 'string' && typeof message === 'string') {
    return { owner, kind, fault: fault as OAuthFault, message }
  }
  const read = kind === 'prompt' && isJsonObject(prompt) ? parsePrompt(prompt) : undefined
  return read === undefined ? undefined : { owner, kind: 'prompt', prompt: read }
}

function parsePrompt(value: JsonObject): SignInPrompt | undefined {
  const { kind, url, completeUrl, userCode, expiresAt } = value
  if (typeof url !== 'string') return undefined
  if (kind === 'browser') return { kind, url }
  if (kind !== 'device' || typeof userCode !== 'string' || typeof expiresAt !== 'number') return undefined
  return { kind, url, userCode, expiresAt, ...(typeof completeUrl === 'string' ? { completeUrl } : {}) }
}
