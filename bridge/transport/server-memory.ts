import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isNestedDeeply, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isModernDiscovery, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** A server as the last connection knew it. A guess: the server's current behaviour wins. */
export interface ServerMemory {
  era: McpEra
  transport: 'http' | 'sse'
  initializeResult?: JsonObject
  discoverResult?: JsonObject
  /** Tools as the server lists them, without hidden ones. */
  tools?: readonly JsonObject[]
}

export interface MemoryStore {
  read(): ServerMemory | undefined
  write(memory: ServerMemory): void
}

/** Longer lists of tools are not remembered. */
const maxListedLength = 8_000_000

/** Reads once, when first needed. Writes changes only, in a later turn of the event loop. */
export class RememberedServer {
  /** Called for each answer that only servers of that revision give. */
  onSeen: (era: McpEra) => void = () => {}
  readonly #store: MemoryStore
  #held: Partial<ServerMemory> | undefined
  #isWriting = false
  #listed: JsonObject[] = []
  #listedLength = 0

  constructor(store: MemoryStore) {
    this.#store = store
  }

  known(): ServerMemory | undefined {
    const all = this.#memory()
    return all.era !== undefined && all.transport !== undefined ? (all as ServerMemory) : undefined
  }

  /** Learns from the results of `initialize`, `server/discover` and `tools/list`, in which the server describes itself. */
  readonly answered = (transport: 'http' | 'sse', request: WireMessage, answer: WireMessage): void => {
    const { envelope } = request
    const result = isNestedDeeply(answer) ? undefined : parseJsonObject(answer.text)?.['result']
    if (envelope.kind !== 'request' || !isJsonObject(result)) return
    if (envelope.method === 'tools/list') return this.#learnTools(request, result, answer.text.length)
    const isModern = envelope.method === 'server/discover'
    if (isModern && !isModernDiscovery(result)) return
    const era = isModern ? 'modern' : 'legacy'
    this.onSeen(era)
    this.learn({ era, transport, ...(isModern ? { discoverResult: result } : { initializeResult: result }) })
  }

  /** Adds new facts. Nothing is stored before `era` and `transport` are known. */
  learn(news: Partial<ServerMemory>): void {
    const before = this.#memory()
    const isNew = Object.entries(news).some(
      ([name, value]) => !isDeepStrictEqual(before[name as keyof ServerMemory], value),
    )
    if (!isNew) return
    this.#held = { ...before, ...news }
    if (this.#isWriting) return
    this.#isWriting = true
    setImmediate(() => this.flush())
  }

  /** Writes pending changes at once. */
  flush(): void {
    const all = this.#isWriting ? this.known() : undefined
    this.#isWriting = false
    if (all !== undefined) this.#store.write(all)
  }

  #learnTools(request: WireMessage, { tools }: JsonObject, length: number): void {
    if (!Array.isArray(tools)) return
    const params = parseJsonObject(request.text)?.['params']
    const isFirstPage = !isJsonObject(params) || params['cursor'] === undefined
    if (isFirstPage) [this.#listed, this.#listedLength] = [[], 0]
    this.#listedLength += length
    if (this.#listedLength > maxListedLength) return
    this.#listed = [...this.#listed, ...tools.filter(isJsonObject)]
    this.learn({ tools: this.#listed })
  }

  #memory(): Partial<ServerMemory> {
    return (this.#held ??= this.#store.read() ?? {})
  }
}
