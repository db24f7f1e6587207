import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

const timeoutMs = 5000
const maxBodyLength = 1_000_000

/** Result of one request. `reason` is readable text without anything that was sent. */
export type Visit =
  | {
      kind: 'answered'
      status: number
      headers: Headers
      /** Undefined for anything but a JSON object. */
      json: JsonObject | undefined
      text: string
    }
  | { kind: 'unreachable'; reason: string }

/** Returns where a response redirects to, without the query; undefined for any other. */
export function redirectOf(answer: Visit): string | undefined {
  if (answer.kind === 'unreachable' || answer.status < 300 || answer.status > 399) return undefined
  return `to ${(answer.headers.get('location') ?? 'nowhere').split(/[?#]/)[0]}`
}

export interface VisitInit {
  method?: string
  headers?: Record<string, string>
  body?: string
  /** Called with the text so far whenever some of it arrives. */
  arrived?: (text: string) => void
}

/** Sends one request. Follows no redirects, and never rejects. */
export async function visit(
  url: string,
  runtime: Pick<Runtime, 'fetch'>,
  { arrived, ...init }: VisitInit = {},
): Promise<Visit> {
  try {
    const request = new Request(url, { ...init, redirect: 'manual' })
    const response = await runtime.fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
    const text = await textOf(response, arrived)
    return {
      kind: 'answered',
      status: response.status,
      headers: response.headers,
      json: parseJsonObject(text),
      text,
    }
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error) }
  }
}

/** Reads as much of a body as a document may have. */
async function textOf({ body }: Response, arrived: VisitInit['arrived']): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    arrived?.(text)
    if (text.length > maxBodyLength) break
  }
  return text.slice(0, maxBodyLength)
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up right now',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  Z_DATA_ERROR: 'its answer is compressed otherwise than its headers say',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that this Node does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an authority that this Node does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that this Node does not know',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
}

function reasonOf(error: unknown): string {
  const { name, cause } = error as Error
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} seconds`
  const { code } = (cause ?? error) as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? code ?? 'the request failed'
}
