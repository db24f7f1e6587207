import type { Readable, Writable } from 'node:stream'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { underLoad } from '../../under-load.ts'

/** The client of a bridge, at the other ends of its streams. */
export interface LineClient {
  /** All messages received, in order. */
  messages: readonly JsonObject[]
  /** Lines that are not JSON. */
  strayLines: readonly string[]
  /** Sends text unchanged, with a line end. */
  write(message: JsonObject | string): void
  /** Sends a request and resolves with the whole response. */
  ask(method: string, params?: JsonObject, id?: number | string): Promise<JsonObject>
  /** Returns the first matching message, including past ones. Rejects after a while. */
  find(fits: (message: JsonObject) => boolean): Promise<JsonObject>
  /** Opens a session as a client of 2025-11-25 does. */
  initialize(capabilities?: JsonObject, protocolVersion?: string): Promise<JsonObject>
  /** Makes every later request claim 2026-07-28. */
  speakModern(capabilities?: JsonObject): void
  /** Answers later requests of the server with these results; undefined for no answer. */
  answerWith(resultOf: ResultOf): void
}

type ResultOf = (method: string, params: JsonObject) => JsonObject | undefined

/** A timeout quotes `notes`. Nothing more comes after `end`. */
export function createLineClient(
  to: Writable,
  from: Readable,
  notes: () => string,
): LineClient & { end(): void } {
  const messages: JsonObject[] = []
  const strayLines: string[] = []
  const waiting = new Set<() => void>()
  let resultOf: ResultOf = () => undefined
  let claims: JsonObject | undefined
  let rest: Buffer[] = []
  let lastId = 0
  let isOver = false

  // A bridge that has exited accepts no more lines.
  to.on('error', () => {})
  from.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(Buffer.concat([...rest, chunk.subarray(start, end)]).toString())
      rest = []
      start = end + 1
    }
    rest.push(chunk.subarray(start))
    // In a later turn, over any kind of stream.
    setImmediate(lookAll)
  })

  function lookAll(): void {
    for (const look of waiting) look()
  }

  function take(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      strayLines.push(line)
      return
    }
    if (!isJsonObject(message)) return void strayLines.push(line)
    messages.push(message)
    const { id, method, params } = message
    if (id === undefined || typeof method !== 'string') return
    const result = resultOf(method, isJsonObject(params) ? params : {})
    if (result !== undefined) write({ jsonrpc: '2.0', id, result })
  }

  function write(message: JsonObject | string): void {
    to.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
  }

  function find(fits: (message: JsonObject) => boolean): Promise<JsonObject> {
    const found = new Promise<JsonObject>((resolve, reject) => {
      let seen = 0
      const stop = (): void => {
        waiting.delete(look)
        clearTimeout(timer)
      }
      const give = (what: string): void => {
        stop()
        reject(new Error(`${what}\nLast: ${messages.slice(-3).map(shortly).join('\n')}\n${notes()}`))
      }
      const timer = setTimeout(() => give('What was waited for never came.'), underLoad(12_500))
      function look(): void {
        for (; seen < messages.length; seen += 1) {
          const message = messages[seen]
          if (message === undefined || !fits(message)) continue
          stop()
          return resolve(message)
        }
        if (isOver) give('The bridge ended.')
      }
      waiting.add(look)
      look()
    })
    // Not every caller waits for messages of a bridge that is stopped on purpose.
    found.catch(() => {})
    return found
  }

  function ask(method: string, params?: JsonObject, id: number | string = ++lastId): Promise<JsonObject> {
    const given = { ...(isJsonObject(params?.['_meta']) && params['_meta']), ...claims }
    const all = claims === undefined ? params : { ...params, _meta: given }
    const from = messages.length
    write({ jsonrpc: '2.0', id, method, ...(all && { params: all }) })
    // An id may be reused once it has its answer.
    let seen = 0
    return find((message) => {
      seen += 1
      return seen > from && message['id'] === id && message['method'] === undefined
    })
  }

  return {
    messages,
    strayLines,
    write,
    ask,
    find,
    async initialize(capabilities = {}, protocolVersion = '2025-11-25') {
      const clientInfo = { name: 'test', version: '1' }
      const answer = await ask('initialize', { protocolVersion, capabilities, clientInfo })
      write({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return answer
    },
    speakModern(capabilities = {}) {
      claims = modernClaims(capabilities)
    },
    answerWith(given) {
      resultOf = given
    },
    end() {
      isOver = true
      lookAll()
    },
  }
}

function shortly(message: JsonObject): string {
  return JSON.stringify(message).slice(0, 400)
}

/** Returns `_meta` for requests of 2026-07-28. */
export function modernClaims(capabilities: JsonObject = {}): JsonObject {
  return {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [mcpMetaKey.clientInfo]: { name: 'test', version: '1' },
    [mcpMetaKey.clientCapabilities]: capabilities,
  }
}
