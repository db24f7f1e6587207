import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { registerClient, type RegistrationPolicy } from '../core/client-registration.ts'
import type { ClientStore } from '../core/client.ts'
import { json } from './answer.ts'
import { readJson } from './body.ts'
import { everyone } from './cors.ts'
import type { Endpoint } from './endpoint.ts'

/** What the registration endpoint needs. */
export interface RegisterPorts {
  store: ClientStore
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  policy: RegistrationPolicy
}

/** `POST /oauth/register` (RFC 7591 section 3): open to all, answers 201 with the client's id and, once, its secret. */
export function createRegisterEndpoint(basePath: string, ports: RegisterPorts): Endpoint {
  return {
    path: `${basePath}/oauth/register`,
    cors: everyone,
    methods: {
      async POST(request, context) {
        const { client, response } = registerClient(await readJson(request), ports.policy, ports.runtime)
        await ports.store.addClient(client)
        context.report('client_registered', { client_id: client.id })
        return json(response, 201)
      },
    },
  }
}
