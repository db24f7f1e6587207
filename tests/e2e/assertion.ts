import { randomUUID } from 'node:crypto'
import { type KeySample, signWith } from '../support/server/key-sample.ts'
import type { ServerProcess } from './server-process.ts'

/** Form fields that authenticate a client with its key (RFC 7523 section 2.2). */
export interface AssertionFields extends Record<string, string> {
  client_assertion_type: string
  client_assertion: string
}

/** Creates an assertion of `clientId` for that server, valid for a minute and for one request. */
export async function assertionFields(
  server: Pick<ServerProcess, 'baseUrl'>,
  clientId: string,
  key: KeySample,
): Promise<AssertionFields> {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: server.baseUrl,
    iat: now,
    exp: now + 60,
    jti: randomUUID(),
  }
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await signWith(key, claims),
  }
}
