import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CustomFetch } from 'openid-client'
import { ProviderError } from '../../core/session/session-provider.ts'

const maxAnswerBytes = 1_000_000
const bodilessStatuses = new Set([204, 205, 304])

// The request was never sent, so it had no effect.
const notConnectedCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * The network as the OpenID Connect library sees it: no redirects, and answers of at most 1 MB that have arrived whole.
 * The time-out is the caller's signal. Rejects with `transient`; `outcomeKnown` is true when no connection was made.
 */
export function createOidcFetch(runtime: Pick<Runtime, 'fetch'>): CustomFetch {
  return async (url, { body, headers, method, signal }) => {
    try {
      const response = await runtime.fetch(
        new Request(url, {
          method,
          headers,
          redirect: 'manual',
          ...(body && { body: body as Exclude<RequestInit['body'], undefined> }),
        }),
        signal && { signal },
      )
      const { status } = response
      const content = await readBody(response)
      return new Response(bodilessStatuses.has(status) ? null : content, {
        status,
        headers: response.headers,
      })
    } catch (cause) {
      const message = `The OpenID provider cannot be reached at ${new URL(url).origin}.`
      throw new ProviderError('transient', message, { cause, outcomeKnown: isNotConnected(cause) })
    }
  }
}

async function readBody(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxAnswerBytes) throw new TypeError('The answer is larger than 1 MB.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function isNotConnected(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code
  return typeof code === 'string' && notConnectedCodes.has(code)
}
