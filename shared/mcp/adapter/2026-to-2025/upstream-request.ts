import { canonicalJson, type JsonObject } from '../../../json-object.ts'
import type { JsonRpcMessage } from '../../json-rpc.ts'
import { metaOf } from '../../params.ts'
import type { UpstreamSession } from './sessions.ts'

/** The request to the server, which is sent again after a -32042. */
export class UpstreamRequest {
  readonly method: string
  readonly #params: JsonObject
  readonly #session: UpstreamSession
  readonly #controller = new AbortController()
  /** 0 before it is sent. */
  #id = 0

  constructor(method: string, params: JsonObject, session: UpstreamSession) {
    this.method = method
    this.#params = params
    this.#session = session
  }

  get id(): number {
    return this.#id
  }

  isSame(method: string, params: JsonObject): boolean {
    return (
      this.method === method &&
      canonicalJson(withoutAllMeta(this.#params)) === canonicalJson(withoutAllMeta(params))
    )
  }

  send(onMessage: (message: JsonRpcMessage) => void | Promise<void>): Promise<JsonObject> {
    this.#id = this.#session.nextId()
    const params = withProgressToken(this.#params, this.#id)
    const { signal } = this.#controller
    return this.#session.request(this.method, params, { id: this.#id, signal, onMessage })
  }

  cancel(reason: string): void {
    if (this.#id === 0) return
    const params = { requestId: this.#id, reason }
    this.#session.remote
      .notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      .catch(() => {})
      .finally(() => this.#controller.abort())
  }
}

/** Progress is reported under the id of the call: a retry of the client may have another token, or none. */
function withProgressToken(params: JsonObject, progressToken: number): JsonObject {
  const meta = metaOf(params)
  if (meta['progressToken'] === undefined) return params
  return { ...params, _meta: { ...meta, progressToken } }
}

function withoutAllMeta(params: JsonObject): JsonObject {
  const { _meta: _, ...rest } = params
  return rest
}
