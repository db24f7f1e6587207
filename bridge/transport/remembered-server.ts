import { isDeepStrictEqual } from 'node:util'
import type { ServerMemory } from './server-memory.ts'

/** {@link ServerMemory} as it grows during a connection. */
export interface RememberedServer {
  known(): ServerMemory | undefined
  /** Adds what was just seen. `era` and `transport` have to be known by then, or nothing is kept. */
  learn(news: Partial<Omit<ServerMemory, 'at'>>): void
}

/** Reads once, when first asked, and writes after whatever the event loop has to do now, and only what is new. */
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

  /** The relay works without a memory as well: only slower. */
  function read(): ServerMemory | undefined {
    try {
      return ports.read()
    } catch (error) {
      ports.note(`what was known of the server could not be read: ${String(error)}`)
      return undefined
    }
  }

  function write(): void {
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
      // What has just been seen to work is not lacking, whatever was found before.
      const kept = lacks === undefined || lacks.era === rest.era ? {} : { lacks }
      held = { memory: { ...rest, ...kept, at: ports.now() } }
      if (isWriting) return
      isWriting = true
      setImmediate(write)
    },
  }
}

/** An unchanged memory gets a new date this often, so that it does not look stale. */
const refreshAfterSeconds = 3600

function isComplete(memory: Partial<ServerMemory>): memory is ServerMemory {
  return memory.era !== undefined && memory.transport !== undefined && memory.at !== undefined
}
