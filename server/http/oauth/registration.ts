import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import { addressNetwork } from '../../core/address-block.ts'
import type { AttemptStore } from '../../core/limits/attempt-limit.ts'
import { countRegistration } from '../../core/clients/client-registration-limit.ts'
import {
  clientInformation,
  registerClient,
  type RegistrationPolicy,
  type RegistrationRuntime,
  updateClient,
} from '../../core/clients/client-registration.ts'
import { removeClientWithGrants } from '../../core/clients/client-removal.ts'
import type { Client, ClientFinder, ClientStore } from '../../core/clients/client.ts'
import type { GrantStore } from '../../core/session/grant.ts'
import { hashSecret } from '../../core/seal.ts'
import type { Endpoint } from '../endpoint.ts'
import { readJson } from '../middleware/body.ts'
import { everyone } from '../middleware/cors.ts'
import { splitUrl } from '../middleware/guards.ts'
import type { TextResponse } from '@drawbridge/shared/text-response.ts'
import { empty, json, noCache, oauthFailure, tooManyRequests } from '../response.ts'

export interface RegistrationPorts {
  clients: ClientFinder
  store: Pick<ClientStore, 'addClient' | 'replaceClient' | 'removeClient'> &
    Pick<GrantStore, 'endGrants'> &
    AttemptStore
  runtime: RegistrationRuntime
  policy: RegistrationPolicy
  issuer: string
  limitPerHour: number
}

/** Creates the endpoints where clients register themselves, and manage their registrations. */
export function createRegistrationEndpoints(basePath: string, ports: RegistrationPorts): Endpoint[] {
  return [createRegisterEndpoint(basePath, ports), createManagementEndpoint(basePath, ports)]
}

/**
 * `POST /oauth/register` (RFC 7591 section 3): open to everyone. Responds 201 with the client id, its secret (shown only once),
 * and the token that manages the registration (RFC 7592). Over the limit the response is 429.
 */
function createRegisterEndpoint(basePath: string, ports: RegistrationPorts): Endpoint {
  return {
    path: `${basePath}/oauth/register`,
    cors: everyone,
    methods: {
      async POST(request, context) {
        const metadata = await readJson(request)
        const { client, response } = registerClient(metadata, ports.policy, ports.runtime, (id) =>
          managementUrl(id, ports),
        )
        const { redirectUris } = client
        const waitSeconds = await countRegistration({ redirectUris, address: context.address }, ports)
        if (waitSeconds > 0) {
          context.report('registration_limited')
          const description = `Too many registrations from this address. Try again in ${waitSeconds} seconds.`
          return tooManyRequests(description, waitSeconds)
        }
        await ports.store.addClient(client, addressNetwork(context.address ?? ''))
        context.report('client_registered', { client_id: client.id })
        return json(response, 201, noCache)
      },
    },
  }
}

function managementUrl(clientId: string, { issuer }: RegistrationPorts): string {
  return `${issuer}/oauth/register/${clientId}`
}

/** A registration and the token presented for it; the server stores only the hash of the token. */
interface Managed {
  client: Client
  token: string
}

/**
 * `/oauth/register/{id}` (RFC 7592 section 2): GET reads a registration, PUT replaces all of it, DELETE removes it together
 * with all its grants. The registration access token belongs to it and never changes.
 *
 * Without that token the response is 401, whether the client exists or not. The client secret is not shown again: only its hash
 * is stored.
 */
function createManagementEndpoint(basePath: string, ports: RegistrationPorts): Endpoint {
  const answer = ({ client, token }: Managed, response: object = {}): TextResponse =>
    json(
      {
        ...clientInformation(client, ports.policy.scope),
        ...response,
        registration_client_uri: managementUrl(client.id, ports),
        registration_access_token: token,
      },
      200,
      noCache,
    )
  return {
    path: `${basePath}/oauth/register/`,
    prefix: true,
    cors: everyone,
    methods: {
      async GET(request) {
        const managed = await findManaged(request, ports)
        return managed ? answer(managed) : unauthorized()
      },
      async PUT(request, context) {
        const managed = await findManaged(request, ports)
        if (!managed) return unauthorized()
        const metadata = await readJson(request)
        const { client, response } = updateClient(managed.client, metadata, ports.policy, ports.runtime)
        // It may have been removed meanwhile, and must not be restored.
        if (!(await ports.store.replaceClient(client))) return unauthorized()
        context.report('client_updated', { client_id: client.id })
        return answer({ client, token: managed.token }, response)
      },
      async DELETE(request, context) {
        const managed = await findManaged(request, ports)
        if (!managed) return unauthorized()
        const { grantsEnded } = await removeClientWithGrants(managed.client.id, ports)
        context.report('client_removed', { client_id: managed.client.id, grants_ended: grantsEnded })
        return empty(204)
      },
    },
  }
}

async function findManaged(request: Request, { clients }: RegistrationPorts): Promise<Managed | undefined> {
  const token = /^Bearer +([\x21-\x7E]{1,200})$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) return undefined
  const id = splitUrl(request.url).path.split('/').at(-1) ?? ''
  // Found like everywhere else: a client that the operator configured under this id cannot be managed by its earlier registrant.
  const client = await clients.findClient(id)
  if (client?.kind !== 'registered' || client.managementHash === undefined) return undefined
  return constantTimeEqual(hashSecret(token), client.managementHash) ? { client, token } : undefined
}

/** Refuses alike for a wrong token and an unknown client (RFC 7592 section 2.1, RFC 6750 section 3.1). */
function unauthorized(): TextResponse {
  const description =
    'Send the registration access token of this client as a bearer token, or register again.'
  return oauthFailure(new OAuthError('invalid_token', description), {
    'www-authenticate': 'Bearer error="invalid_token"',
  })
}
