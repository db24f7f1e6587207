import {
  type AuthorizationScript,
  createAuthorizationServer as createRemoteAuthorizationServer,
} from '../../remote/authorization-server.ts'
import { createCounters } from '../../remote/remote-counters.ts'
import { usualSettings } from '../../remote/remote-settings.ts'
import type { PeerRequest } from '../proxy/http-peer.ts'
import type { McpServerOptions } from './mcp-server.ts'

/** The authorization server of a remote next to a small MCP endpoint. */
export interface AuthorizationServer {
  options: Pick<McpServerOptions, 'challenge' | 'other' | 'token'>
  /** Requested paths, each with its form or query. */
  seen: { path: string; form: URLSearchParams }[]
  /** Replaces the code in answers of `/authorize`. */
  refusal: string | undefined
  /** Makes all clients registered so far get an error page. */
  forgetClients(): void
}

/**
 * Issues `sEcReT-access` and `sEcReT-refresh` for every code. Any request to the address of a registration removes
 * it.
 */
export function createAuthorizationServer({
  revokes = true,
}: { revokes?: boolean } = {}): AuthorizationServer {
  const seen: AuthorizationServer['seen'] = []
  let issuer = ''
  const script: AuthorizationScript = {
    anybody: 'anybody',
    metadata: {
      scopes_supported: undefined,
      grant_types_supported: undefined,
      token_endpoint_auth_methods_supported: ['none'],
      ...(!revokes && { revocation_endpoint: undefined }),
    },
    get registration() {
      const registration_client_uri = `${issuer}/register/client-1`
      return { registration_client_uri, registration_access_token: 'sEcReT-registration' }
    },
    get response(): Record<string, string | undefined> {
      return server.refusal === undefined ? {} : { code: undefined, error: server.refusal }
    },
    tokens: { access_token: 'sEcReT-access', refresh_token: 'sEcReT-refresh', scope: 'mcp' },
  }
  const settings = { ...usualSettings, deviceGrant: false }
  const remote = createRemoteAuthorizationServer(settings, createCounters(), () => issuer, script)
  const server: AuthorizationServer = {
    seen,
    refusal: undefined,
    forgetClients: remote.forgetClients,
    options: {
      token: 'sEcReT-access',
      challenge: (origin) =>
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
      async other(request, origin) {
        issuer = origin
        const url = new URL(request.path, origin)
        const isKnown = await answer(request, url)
        if (isKnown) seen.push({ path: url.pathname, form: formOf(request, url) })
        return isKnown
      },
    },
  }

  async function answer({ incoming, response, json }: PeerRequest, url: URL): Promise<boolean> {
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp')
      json(200, { resource: `${issuer}/mcp`, authorization_servers: [issuer] })
    else if (url.pathname === '/register/client-1') response.writeHead(204).end()
    else return remote.handle(incoming, response, url)
    return true
  }

  return server
}

function formOf({ headers, body }: PeerRequest, url: URL): URLSearchParams {
  const isJson = headers['content-type']?.startsWith('application/json') === true
  return isJson || body === '' ? url.searchParams : new URLSearchParams(body)
}
