import type { ClientIdentity } from '../credentials/credential.ts'
import { NetworkError } from '../http/http-client.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { exchangeJson, type OAuthPorts, type ServerAnswer } from './server-exchange.ts'
import type { TokenAnswer } from './token-answer.ts'
import { readTokenAnswer } from './token-endpoint-answer.ts'
import { type ClientProof, proveClient } from './token-endpoint-client.ts'
import { withoutEchoes } from './token-endpoint-echo.ts'

/** One request as a client of an authorization server. */
export interface ClientRequest {
  url: string
  issuer: string
  client: ClientIdentity
  /** Those that are undefined are left out. */
  parameters: Readonly<Record<string, string | undefined>>
}

/**
 * Posts a form with the proof of the client. What was secret in the request is not in the texts of the answer. Rejects with
 * `NetworkError`, or with `OAuthFailure` `client_refused` when the client cannot be proved.
 */
export async function postAsClient(
  { url, issuer, client, parameters }: ClientRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal | undefined,
): Promise<ServerAnswer> {
  const proof = proveClient(client, issuer, config, ports)
  const body = new URLSearchParams(proof.parameters)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) body.set(name, value)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    ...proof.headers,
  }
  const request = { method: 'POST' as const, url, headers, body: body.toString() }
  const answer = await exchangeJson(request, ports.http, signal)
  return withoutEchoes(answer, secretsOf(body, proof, client))
}

function secretsOf(
  body: URLSearchParams,
  { headers }: ClientProof,
  { clientSecret }: ClientIdentity,
): string[] {
  const names = [
    'code',
    'code_verifier',
    'refresh_token',
    'device_code',
    'token',
    'client_secret',
    'client_assertion',
  ]
  const basic = headers['authorization']?.split(' ')[1]
  return [clientSecret, basic, ...names.map((name) => body.get(name))].filter(
    (secret) => !!secret,
  ) as string[]
}

/**
 * Asks a token endpoint. Everything that can happen there is an answer; rejects only when the client cannot be proved.
 * `scope` is what was asked for: it is what was granted, if the server does not say otherwise (RFC 6749 section 5.1).
 */
export async function requestTokens(
  request: ClientRequest & { scope?: string | undefined },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal | undefined,
): Promise<TokenAnswer> {
  const at = ports.runtime.now()
  try {
    const answer = await postAsClient(request, config, ports, signal)
    return readTokenAnswer(answer, { at, scope: request.scope, useIdToken: config.useIdToken })
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: error, sent: error.sent }
  }
}
