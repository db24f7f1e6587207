import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

const timeoutMs = 5000
const maxBodyLength = 1_000_000

/** Result of one request. `reason` is readable, and contains nothing that was sent. */
export type ProbeResult =
  | {
      kind: 'answered'
      status: number
      headers: Headers
      /** Undefined for anything but a JSON object. */
      json: JsonObject | undefined
      text: string
    }
  | { kind: 'unreachable'; reason: string; status?: undefined; headers?: undefined; json?: undefined }

/** Returns where a response redirects to, without the query; undefined for any other. */
export function redirectOf(answer: ProbeResult): string | undefined {
  const { status = 0, headers } = answer
  if (status < 300 || status > 399) return undefined
  return `to ${(headers?.get('location') ?? 'nowhere').split(/[?#]/)[0]}`
}

export interface ProbeInit {
  method?: string
  headers?: Record<string, string>
  body?: string
  /** Called with the text so far whenever a part arrives. */
  arrived?: (text: string) => void
}

/** Sends one request. Follows no redirects, and never rejects. */
export async function probe(
  url: string,
  runtime: Pick<Runtime, 'fetch'>,
  { arrived, ...init }: ProbeInit = {},
): Promise<ProbeResult> {
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

/** Reads the body, up to the limit. */
async function textOf({ body }: Response, arrived: ProbeInit['arrived']): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    arrived?.(text)
    if (text.length > maxBodyLength) break
  }
  return text.slice(0, maxBodyLength)
}

const unknownAuthority =
  'its certificate comes from an authority that this Node does not know (NODE_EXTRA_CA_CERTS)'

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up right now',
  EHOSTUNREACH: 'no route leads to its host',
  ENETUNREACH: 'no route leads to its network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  Z_DATA_ERROR: 'its headers name another compression than its response has',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, by the clock of this machine',
  CERT_HAS_EXPIRED: 'its certificate has expired, by the clock of this machine',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `it does not send the certificate of its issuer, or ${unknownAuthority}`,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
}

function reasonOf(error: unknown): string {
  const { name, cause } = error as Error
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} seconds`
  const { code } = (cause ?? error) as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? code ?? 'the request failed'
}
