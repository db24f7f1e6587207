import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { parseExactJson } from '@drawbridge/shared/exact-json.ts'
import { isExactNumber, isJsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isEventStream, type Reply, toResponse } from '@drawbridge/shared/text-response.ts'

/**
 * Keeps numbers of messages as they came. The SDK's transports would round an id or progress token that JavaScript writes otherwise, so
 * a text that cannot be guessed stands in for it within this server.
 */
export class ExactIds {
  readonly #mark: string
  readonly #standIn: RegExp

  constructor(runtime: Pick<Runtime, 'randomBytes'>) {
    this.#mark = `number-${encodeBase64url(runtime.randomBytes(16))}:`
    this.#standIn = new RegExp(`"${this.#mark}([^"]*)"`, 'g')
  }

  /** The message or batch in `text`, which must be JSON. */
  read(text: string): unknown {
    const exact = parseExactJson(text)
    return Array.isArray(exact) ? exact.map((each) => this.#withStandIns(each)) : this.#withStandIns(exact)
  }

  /** The reply to it. */
  async restore(reply: Reply): Promise<Reply> {
    const restored = (text: string): string => text.replaceAll(this.#standIn, '$1')
    if (!isEventStream(reply)) {
      const response = toResponse(reply)
      return new Response(response.body && restored(await response.text()), response)
    }
    // Each chunk has whole events.
    const transform = new TransformStream<string, string>({
      transform: (chunk, controller) => controller.enqueue(restored(chunk)),
    })
    const events = reply.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(transform)
      .pipeThrough(new TextEncoderStream())
    return new Response(events, reply)
  }

  #withStandIns(message: unknown): unknown {
    if (!isJsonObject(message)) return message
    const [params, standIn] = [paramsOf(message), (value: unknown) => this.#standInOf(value)]
    const own = { ...message, ...('id' in message && { id: standIn(message['id']) }) }
    if (!params) return own
    const { _meta } = params
    const token = mcpMetaKey.progressToken
    return {
      ...own,
      params: {
        ...params,
        ...(message['method'] === 'notifications/cancelled' && { requestId: standIn(params['requestId']) }),
        ...(isJsonObject(_meta) && token in _meta && { _meta: { ..._meta, [token]: standIn(_meta[token]) } }),
      },
    }
  }

  #standInOf(id: unknown): unknown {
    const isOdd = isExactNumber(id) || (typeof id === 'number' && !Number.isSafeInteger(id))
    return isOdd ? `${this.#mark}${JSON.stringify(id)}` : id
  }
}
