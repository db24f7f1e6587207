import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server'
import type { Caller } from '../core/tokens/caller.ts'

/** What is being served: who sent it, and the parsed message or batch; undefined for a GET. */
export interface Incoming {
  caller: Caller
  body: unknown
}

/**
 * The form in which the SDK passes a caller on to handlers. It wants a token there; handlers get the caller instead, and
 * nothing downstream needs the credential itself.
 */
export function authInfoOf(
  caller: Caller,
  resourceMetadata: string,
): AuthInfo & { extra: { caller: Caller } } {
  const { clientId, scope, expiresAt } = caller
  return {
    token: '',
    clientId: clientId ?? '',
    scopes: scope.split(' '),
    expiresAt,
    resourceMetadataUrl: resourceMetadata,
    extra: { caller },
  }
}

/** The caller of the request that a handler runs for, as {@link authInfoOf} put it there. */
export function callerOf(context: ServerContext): Caller {
  const extra = context.http?.authInfo?.extra
  if (!extra || !('caller' in extra))
    throw new TypeError('An MCP request reached its handler without a caller.')
  return extra['caller'] as Caller
}
