import type { ServerResponse } from 'node:http'
import type { PeerRequest } from '../proxy/http-peer.ts'
import type { McpServerOptions } from './mcp-server.ts'

/** An authorization server next to an MCP endpoint, which lets everyone in. */
export interface AuthorizationServer {
  options: Pick<McpServerOptions, 'challenge' | 'other' | 'token'>
  /** Requested paths, each with its form or query. */
  seen: { path: string; form: URLSearchParams }[]
  /** Replaces the code in answers of `/authorize`. */
  refusal: string | undefined
  /** Makes all clients registered so far get an error page. */
  forgetClients(): void
}

type Endpoint = (response: ServerResponse, form: URLSearchParams, origin: string) => void

/**
 * Issues `sEcReT-access` and `sEcReT-refresh` for every code. Any request to the address of a registration removes
 * it.
 */
export function createAuthorizationServer({
  revokes = true,
}: { revokes?: boolean } = {}): AuthorizationServer {
  const seen: AuthorizationServer['seen'] = []
  let clients = 0
  let forgotten = 0
  const server: AuthorizationServer = {
    seen,
    refusal: undefined,
    forgetClients: () => void (forgotten = clients),
    options: {
      token: 'sEcReT-access',
      challenge: (origin) =>
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
      other(request, origin) {
        const url = new URL(request.path, origin)
        const work = endpoints[url.pathname]
        if (work === undefined) return false
        const form = formOf(request, url)
        seen.push({ path: url.pathname, form })
        work(request.response, form, origin)
        return true
      },
    },
  }
  const endpoints: Readonly<Record<string, Endpoint | undefined>> = {
    '/.well-known/oauth-protected-resource/mcp': (response, _form, origin) =>
      json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] }),
    '/.well-known/oauth-authorization-server': (response, _form, origin) =>
      json(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        ...(revokes && { revocation_endpoint: `${origin}/revoke` }),
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      }),
    '/register': (response, form, origin) => {
      const metadata = JSON.parse([...form.keys()].join('&') || '{}') as Record<string, unknown>
      clients += 1
      const management = {
        registration_client_uri: `${origin}/register/client-1`,
        registration_access_token: 'sEcReT-registration',
      }
      const client = { client_id: `client-${clients}`, token_endpoint_auth_method: 'none' }
      json(response, { ...metadata, ...client, ...management }, 201)
    },
    '/register/client-1': (response) => void response.writeHead(204).end(),
    '/authorize': (response, form, origin) => {
      if (Number(form.get('client_id')?.slice('client-'.length)) <= forgotten) {
        response.writeHead(400).end('unknown client')
        return
      }
      const target = new URL(form.get('redirect_uri') ?? '')
      if (server.refusal === undefined) target.searchParams.set('code', 'sEcReT-code')
      else target.searchParams.set('error', server.refusal)
      target.searchParams.set('state', form.get('state') ?? '')
      target.searchParams.set('iss', origin)
      response.writeHead(302, { Location: target.href }).end()
    },
    '/token': (response) =>
      json(response, {
        access_token: 'sEcReT-access',
        refresh_token: 'sEcReT-refresh',
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'mcp',
      }),
    '/revoke': (response) => void response.writeHead(200).end(),
  }
  return server
}

function json(response: ServerResponse, document: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(document))
}

/** Treats a JSON registration as a form with its text as the only name. */
function formOf({ headers, body }: PeerRequest, url: URL): URLSearchParams {
  if (headers['content-type']?.startsWith('application/json')) {
    const form = new URLSearchParams()
    form.set(body, '')
    return form
  }
  return body === '' ? url.searchParams : new URLSearchParams(body)
}
