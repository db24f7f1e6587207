import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { createPrivateFolder } from '../../credentials/private-folder.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { loginId } from '../../credentials/credential-store.ts'

const memoryVersion = 1

/** Opens the memory of the configured server and login, private as it shows which servers and tools are used. */
export function memoryOf(config: BridgeConfig, note: (text: string) => void) {
  const folder = createPrivateFolder(config.credentials.home, 'servers', note)
  const name = `${loginId(config.oauth)}.json`
  return {
    /** Returns undefined for a missing or unusable file. Checks the version alone: only this user can write there. Never throws. */
    read(): ServerMemory | undefined {
      try {
        const { version, ...memory } = parseJsonObject(folder.read(name) ?? '') ?? {}
        return version === memoryVersion ? (memory as unknown as ServerMemory) : undefined
      } catch {
        return undefined
      }
    },
    /** Never throws: a connection can find everything out again. */
    write(memory: ServerMemory): void {
      try {
        folder.write(name, JSON.stringify({ version: memoryVersion, ...memory }))
      } catch (error) {
        note(`the memory of the server is not written: ${error instanceof Error ? error.message : ''}`)
      }
    },
  }
}
