import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isNestedDeeply } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { isModernDiscovery } from './revision-detection.ts'
import type { SendOptions, Transport } from './transport.ts'

/** What is known of a server from the last connection. Only ever a guess: what the server does now wins. */
export interface ServerMemory {
  era: McpEra
  transport: 'http' | 'sse'
  /** When this was true, epoch seconds. */
  at: number
  /** An era that the server was asked for and did not speak, and when, in epoch seconds. Not set if it was not asked. */
  lacks?: { era: McpEra; at: number }
  initializeResult?: JsonObject
  discoverResult?: JsonObject
  /** Tools as the server lists them, without those that no client may use. */
  tools?: readonly JsonObject[]
}

/** {@link ServerMemory} as it grows during a connection. */
export interface RememberedServer {
  known(): ServerMemory | undefined
  /** Adds what was just seen. `era` and `transport` have to be known by then, or nothing is kept. */
  learn(news: Partial<Omit<ServerMemory, 'at'>>): void
  /** Writes at once what waits to be written. */
  flush(): void
}

/** Reads once, when first asked, and writes in a later turn of the event loop, and only if something is new. */
export function createRememberedServer(ports: {
  read(): ServerMemory | undefined
  write(memory: ServerMemory): void
  now(): number
  note(text: string): void
}): RememberedServer {
  let held: { memory: Partial<ServerMemory> } | undefined
  let isWriting = false

  function memory(): Partial<ServerMemory> {
    held ??= { memory: read() ?? {} }
    return held.memory
  }

  /** The proxy works without a memory as well: only slower. */
  function read(): ServerMemory | undefined {
    try {
      return ports.read()
    } catch (error) {
      ports.note(`what was known of the server could not be read: ${String(error)}`)
      return undefined
    }
  }

  function write(): void {
    if (!isWriting) return
    isWriting = false
    const all = memory()
    if (!isComplete(all)) return
    try {
      ports.write(all)
    } catch (error) {
      ports.note(`what is known of the server could not be kept: ${String(error)}`)
    }
  }

  return {
    known() {
      const all = memory()
      return isComplete(all) ? all : undefined
    },
    learn(news) {
      const before = memory()
      const isNew = Object.entries(news).some(
        ([name, value]) => !isDeepStrictEqual(before[name as keyof ServerMemory], value),
      )
      const isOld = ports.now() - (before.at ?? 0) > refreshAfterSeconds
      if (!isNew && !isOld) return
      const { lacks, ...rest } = { ...before, ...news }
      // What has just been seen to work is not lacking.
      const kept = lacks === undefined || lacks.era === rest.era ? {} : { lacks }
      held = { memory: { ...rest, ...kept, at: ports.now() } }
      if (isWriting) return
      isWriting = true
      setImmediate(write)
    },
    flush: write,
  }
}

/** An unchanged memory gets a new date this often, so that it does not look stale. */
const refreshAfterSeconds = 3600

function isComplete(memory: Partial<ServerMemory>): memory is ServerMemory {
  return memory.era !== undefined && memory.transport !== undefined && memory.at !== undefined
}

/** More is not remembered between connections either. */
const maxListedLength = 8_000_000

/** A transport that learns what the server says of itself: its opening answer and its tools. Passes everything on as it is. */
export function observeServer(
  inner: Transport,
  ports: {
    era: McpEra
    transport(): 'http' | 'sse'
    remembered: RememberedServer
    /** The server has given an answer that only this era has. A request of our own may have asked in another than is assumed. */
    proved(era: McpEra): void
  },
): Transport {
  let listed: JsonObject[] = []
  let listedLength = 0

  function learnOpening(result: JsonObject): void {
    const { era } = ports
    if (era === 'modern' && !isModernDiscovery(result)) return
    ports.proved(era)
    const transport = ports.transport()
    ports.remembered.learn(
      era === 'modern'
        ? { era, transport, discoverResult: result }
        : { era, transport, initializeResult: result },
    )
  }

  function learnTools(request: WireMessage, answer: WireMessage): void {
    const result = resultOf(answer)
    const tools: unknown = result?.['tools']
    if (!Array.isArray(tools)) return
    const isFirstPage = paramsOf(request)?.['cursor'] === undefined
    if (isFirstPage) listedLength = 0
    listedLength += answer.text.length
    if (listedLength > maxListedLength) return
    listed = [...(isFirstPage ? [] : listed), ...tools.filter(isJsonObject)]
    ports.remembered.learn({ tools: listed })
  }

  function watch(options: SendOptions, learn: (answer: WireMessage) => void): SendOptions {
    return {
      ...options,
      deliver(message) {
        const { envelope } = message
        const isResult = envelope.kind === 'response' && !envelope.isError
        if (isResult && !isNestedDeeply(message)) learn(message)
        return options.deliver(message)
      },
    }
  }

  return {
    send(message, options) {
      const { envelope } = message
      if (envelope.kind !== 'request') return inner.send(message, options)
      switch (envelope.method) {
        case ports.era === 'modern' ? 'server/discover' : 'initialize':
          return inner.send(
            message,
            watch(options, (answer) => learnOpening(resultOf(answer) ?? {})),
          )
        case 'tools/list':
          return inner.send(
            message,
            watch(options, (answer) => learnTools(message, answer)),
          )
        default:
          return inner.send(message, options)
      }
    },
    close: (graceMs) => inner.close(graceMs),
  }
}

function resultOf(answer: WireMessage): JsonObject | undefined {
  const result = parseJsonObject(answer.text)?.['result']
  return isJsonObject(result) ? result : undefined
}

function paramsOf(request: WireMessage): JsonObject | undefined {
  const params = parseJsonObject(request.text)?.['params']
  return isJsonObject(params) ? params : undefined
}
