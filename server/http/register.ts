import { addressNetwork } from '../core/access/address-block.ts'
import { countRegistration } from '../core/clients/client-registration-limit.ts'
import {
  registerClient,
  type RegistrationPolicy,
  type RegistrationRuntime,
} from '../core/clients/client-registration.ts'
import type { AttemptStore } from '../core/access/attempt-limit.ts'
import type { ClientStore } from '../core/clients/client.ts'
import { json } from './answer.ts'
import { readJson } from './body.ts'
import { everyone } from './cors.ts'
import type { Endpoint } from './endpoint.ts'
import { tooManyRequests } from './retry-later.ts'

/** What the registration endpoint needs. */
export interface RegisterPorts {
  store: Pick<ClientStore, 'addClient'> & AttemptStore
  runtime: RegistrationRuntime
  policy: RegistrationPolicy
  /** Where the server seems to be, without a slash at its end. */
  issuer: string
  limitPerHour: number
}

/** Absolute path under which each registration is managed; its id is the one segment behind. */
export function managementPath(basePath: string): string {
  return `${basePath}/oauth/register/`
}

/**
 * `POST /oauth/register` (RFC 7591 section 3): open to all, answers 201 with the client's id, once its secret, and the token by
 * which it is managed (RFC 7592). Over the limit the answer is 429.
 */
export function createRegisterEndpoint(basePath: string, ports: RegisterPorts): Endpoint {
  const managementUrl = (clientId: string): string => `${ports.issuer}/oauth/register/${clientId}`
  return {
    path: `${basePath}/oauth/register`,
    cors: everyone,
    methods: {
      async POST(request, context) {
        const metadata = await readJson(request)
        const { client, response } = registerClient(metadata, ports.policy, ports.runtime, managementUrl)
        const { redirectUris } = client
        const permit = await countRegistration({ redirectUris, address: context.address }, ports)
        if (permit.kind === 'limited') {
          context.report('registration_limited')
          const { retryAfterSeconds } = permit
          const description = `Too many registrations from this address. Try again in ${retryAfterSeconds} seconds.`
          return tooManyRequests(description, retryAfterSeconds)
        }
        await ports.store.addClient(client, addressNetwork(context.address ?? ''))
        context.report('client_registered', { client_id: client.id })
        return json(response, 201, { pragma: 'no-cache' })
      },
    },
  }
}
