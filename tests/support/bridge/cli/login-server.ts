import type { Remote, RemoteOptions } from '../../remote/remote.ts'
import { startServer } from '../proxy/proxy-rig.ts'

/** Starts a remote that takes any client and issues `sEcReT-access` and `sEcReT-refresh` for every code. */
export function startLoginServer({ revokes = true }: { revokes?: boolean } = {}): Promise<Remote> {
  return startServer({
    auth: true,
    token: 'sEcReT-access',
    deviceGrant: false,
    authorization: {
      anybody: 'anybody',
      metadata: {
        scopes_supported: undefined,
        grant_types_supported: undefined,
        token_endpoint_auth_methods_supported: ['none'],
        ...(!revokes && { revocation_endpoint: undefined }),
      },
      tokens: { access_token: 'sEcReT-access', refresh_token: 'sEcReT-refresh', scope: 'mcp' },
    },
  })
}

/** A server that says nothing of how to sign in; with `token`, it wants that one. */
export function withoutMetadata(token?: string): RemoteOptions {
  return {
    auth: token !== undefined,
    token,
    challenge: 'bare',
    handle: ({ path, response }) => path !== '/mcp' && (response.writeHead(404).end(), true),
  }
}
