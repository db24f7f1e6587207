import type { ClientIdentity } from '../credentials/credential.ts'
import { NetworkError } from '../network/http-client.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { exchangeJson, type OAuthPorts, type ServerAnswer } from './server-exchange.ts'
import type { TokenAnswer } from './token-answer.ts'
import { readTokenAnswer } from './token-endpoint-answer.ts'
import { proveClient } from './token-endpoint-client.ts'

/** One request as a client of an authorization server. */
export interface ClientRequest {
  url: string
  issuer: string
  client: ClientIdentity
  /** Those that are undefined are left out. */
  parameters: Readonly<Record<string, string | undefined>>
}

/**
 * Posts a form with the proof of the client. Rejects with `NetworkError`, or with `OAuthFailure` `client_refused` when the
 * client cannot be proved.
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
  return await exchangeJson({ method: 'POST', url, headers, body: body.toString() }, ports.http, signal)
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
    const read = readTokenAnswer(answer, { at, scope: request.scope, useIdToken: config.useIdToken })
    return withoutSecrets(read, request)
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: error, sent: error.sent }
  }
}

/** Servers quote what they were sent in their descriptions, and descriptions end in logs. */
function withoutSecrets(answer: TokenAnswer, { client, parameters }: ClientRequest): TokenAnswer {
  if (answer.kind !== 'refused') return answer
  const names = ['code', 'code_verifier', 'refresh_token', 'device_code', 'token']
  const secrets = [client.clientSecret, ...names.map((name) => parameters[name])]
  const clean = (text: string): string =>
    secrets.reduce<string>((rest, secret) => (secret ? rest.replaceAll(secret, '[secret]') : rest), text)
  const { error, description } = answer
  return {
    ...answer,
    error: clean(error),
    description: description === undefined ? undefined : clean(description),
  }
}
