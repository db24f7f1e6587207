import { type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CustomFetch, TokenEndpointResponse } from 'openid-client'
import { ProviderError } from '../../core/session/session-provider.ts'
import { readBoundedBody } from '../response.ts'

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
 * Creates the `fetch` for the OpenID Connect library: no redirects, and complete responses of at most 1 MB. The caller's signal is
 * the time-out. Rejects with `transient`; `outcomeKnown` is true when no connection was made.
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
      const content = await readBoundedBody(response)
      if (!content) throw new TypeError('The response is larger than 1 MB.')
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

function isNotConnected(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code
  return typeof code === 'string' && notConnectedCodes.has(code)
}

/** The member under which {@link setIdTokenAside} passes on an ID token. */
const asideName = 'unchecked_id_token'

/**
 * Renames the ID token of every successful response, so that the library does not check it. For a refresh: the library discards the
 * whole response if it rejects the ID token, for example because our clock is ahead, and with it the only valid refresh token.
 * Responses that are not JSON objects pass unchanged.
 */
export function setIdTokenAside(fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, options)
    const answer = response.ok ? parseJsonObject(await response.clone().text()) : undefined
    if (answer?.['id_token'] === undefined) return response
    const { id_token: idToken, ...rest } = answer
    const renamed: JsonObject = { ...rest, [asideName]: idToken }
    return new Response(JSON.stringify(renamed), { status: response.status, headers: response.headers })
  }
}

/** Returns the renamed ID token, if any. None of it has been checked. */
export function uncheckedIdToken(answer: TokenEndpointResponse): string | undefined {
  const idToken: unknown = answer[asideName]
  return typeof idToken === 'string' ? idToken : undefined
}
