import { createHash } from 'node:crypto'
import { canonicalJson, isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Sealer } from '../../core/seal.ts'
import { type Incoming, messagesIn } from '../incoming.ts'

const ttlSeconds = 600

/**
 * Seals the state of a call that waits for input, which the client carries. The key ring seals it, so every instance can open it
 * and the client can neither read nor change it (MCP 2026-07-28 multi round-trip requests, server requirements 4 and 5). A state
 * can be presented twice within its time: the tool must ensure that what must happen once does.
 */
export class RequestStateCodec {
  readonly #sealer: Sealer
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(sealer: Sealer, runtime: Pick<Runtime, 'now'>) {
    this.#sealer = sealer
    this.#runtime = runtime
  }

  seal(state: unknown, incoming: Incoming): string {
    const text = JSON.stringify({ state, until: this.#runtime.now() + ttlSeconds })
    return this.#sealer.seal(text, bindingOf(incoming))
  }

  /** Throws unless `seal` made it for this user, client, workspace and request within the last ten minutes. */
  open(sealed: string, incoming: Incoming): unknown {
    const text = this.#sealer.open(sealed, bindingOf(incoming))
    const opened: unknown = text === undefined ? undefined : JSON.parse(text)
    if (!isJsonObject(opened) || Number(opened['until']) <= this.#runtime.now())
      throw new RangeError('The request state was not made here, is not for this request, or has expired.')
    return opened['state']
  }
}

/** Binds the seal to purpose, user, client, workspace, and the request without the parts that a retry adds or changes. */
function bindingOf({ caller, body }: Incoming): string {
  const requests = messagesIn(body).map((message) => [
    message['method'],
    withoutRetryParameters(paramsOf(message) ?? {}),
  ])
  const digest = createHash('sha256').update(canonicalJson(requests)).digest('base64url')
  const { user, clientId, workspace } = caller
  return JSON.stringify(['mcp request state', user?.id, clientId, workspace?.id, digest])
}

const retryParameters: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState'])

function withoutRetryParameters(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !retryParameters.has(name)))
}
