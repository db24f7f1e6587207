import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** A server as the last connection knew it. Only ever a guess: what it does now wins. */
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

export interface ServerMemoryPorts {
  memory: { read(): ServerMemory | undefined; write(memory: ServerMemory): void }
  runtime: Pick<Runtime, 'now'>
  note(text: string): void
}

/**
 * {@link ServerMemory} as it grows during a connection. Reads once, when first asked, and writes in a later turn of the event
 * loop, and only if something is new.
 */
export class RememberedServer {
  readonly #ports: ServerMemoryPorts
  #held: Partial<ServerMemory> | undefined
  #isWriting = false
  #onSeen: (era: McpEra) => void = () => {}

  constructor(ports: ServerMemoryPorts) {
    this.#ports = ports
  }

  known(): ServerMemory | undefined {
    const all = this.#memory()
    return isComplete(all) ? all : undefined
  }

  /** Calls `listener` for each answer that only servers of that era give. */
  onSeen(listener: (era: McpEra) => void): void {
    this.#onSeen = listener
  }

  /** Adds such an answer. */
  seen(era: McpEra, news: Partial<ServerMemory>): void {
    this.#onSeen(era)
    this.learn({ era, ...news })
  }

  /** Adds what was just seen. `era` and `transport` have to be known by then, or nothing is kept. */
  learn(news: Partial<Omit<ServerMemory, 'at'>>): void {
    const before = this.#memory()
    const isNew = Object.entries(news).some(
      ([name, value]) => !isDeepStrictEqual(before[name as keyof ServerMemory], value),
    )
    const now = this.#ports.runtime.now()
    if (!isNew && now - (before.at ?? 0) <= refreshAfterSeconds) return
    const { lacks, ...rest } = { ...before, ...news }
    // What has just been seen to work is not lacking.
    const kept = lacks === undefined || lacks.era === rest.era ? {} : { lacks }
    this.#held = { ...rest, ...kept, at: now }
    if (this.#isWriting) return
    this.#isWriting = true
    setImmediate(() => this.flush())
  }

  /** Writes at once what waits to be written. */
  flush(): void {
    if (!this.#isWriting) return
    this.#isWriting = false
    const all = this.known()
    if (all === undefined) return
    try {
      this.#ports.memory.write(all)
    } catch (error) {
      this.#ports.note(`what is known of the server could not be kept: ${String(error)}`)
    }
  }

  /** The proxy works without a memory as well: only slower. */
  #memory(): Partial<ServerMemory> {
    if (this.#held !== undefined) return this.#held
    try {
      this.#held = this.#ports.memory.read() ?? {}
    } catch (error) {
      this.#ports.note(`what was known of the server could not be read: ${String(error)}`)
      this.#held = {}
    }
    return this.#held
  }
}

/** An unchanged memory gets a new date this often, so that it does not look stale. */
const refreshAfterSeconds = 3600

function isComplete(memory: Partial<ServerMemory>): memory is ServerMemory {
  return memory.era !== undefined && memory.transport !== undefined && memory.at !== undefined
}
