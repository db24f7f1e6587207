import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpServerOptions } from './mcp-server.ts'

/** An authorization server beside an MCP endpoint, which lets everybody in. */
export interface AuthorizationServer {
  options: Pick<McpServerOptions, 'challenge' | 'other' | 'token'>
  /** Paths that were asked, each with the form or query it got. */
  seen: { path: string; form: URLSearchParams }[]
  /** What `/authorize` answers in place of a code. */
  refusal: string | undefined
  /** From now on clients that were registered so far get an error page. */
  forgetClients(): void
}

type Endpoint = (response: ServerResponse, form: URLSearchParams, origin: string) => void

/** Issues `sEcReT-access` and `sEcReT-refresh` for every code. Whatever is sent to the address of a registration removes it. */
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
      other(request, response, origin) {
        const url = new URL(request.url ?? '', origin)
        const work = endpoints[url.pathname]
        if (work === undefined) return false
        void answer(work, request, response, url)
        return true
      },
    },
  }
  async function answer(
    work: Endpoint,
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
  ): Promise<void> {
    const form = await formOf(request, url)
    seen.push({ path: url.pathname, form })
    work(response, form, url.origin)
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

/** A registration is JSON: its text is the only name then. */
async function formOf(request: IncomingMessage, url: URL): Promise<URLSearchParams> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  if (request.headers['content-type']?.startsWith('application/json')) {
    const form = new URLSearchParams()
    form.set(body, '')
    return form
  }
  return body === '' ? url.searchParams : new URLSearchParams(body)
}
