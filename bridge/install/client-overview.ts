import type { Client, InstallSystem } from './client.ts'
import { clientFile, clients } from './client-table.ts'
import { readConfigFile } from './config-file.ts'
import { readEntries } from './edit/entry-edit.ts'
import { InstallError } from './install-error.ts'
import { readOwnEntry } from './own-entry.ts'
import { withSnippet } from './plan-install.ts'

/** A client as listed by `drawbridge install --list`. */
export interface ClientState {
  client: Client
  path: string
  /** `fault`: one sentence about what is wrong with the file. */
  state: { kind: 'absent' } | { kind: 'fault'; message: string } | { kind: 'read'; own: readonly OwnName[] }
}

/** An entry of ours. */
export interface OwnName {
  name: string
  serverUrl: string | undefined
}

/** Reads the file of every client. Changes nothing, and never throws because of a file. */
export function clientOverview(system: InstallSystem, launcher: string): ClientState[] {
  return clients.map((client) => {
    const path = clientFile(client, 'user', system)
    return { client, path, state: stateOf(client, path, launcher) }
  })
}

function stateOf(client: Client, path: string, launcher: string): ClientState['state'] {
  try {
    const file = readConfigFile(path)
    if (!file.found) return { kind: 'absent' }
    const entries = withSnippet(path, undefined, () => readEntries(file.text, client))
    const own = [...entries].flatMap(([name, entry]) => {
      const found = readOwnEntry(entry, launcher)
      return found ? [{ name, serverUrl: found.serverUrl }] : []
    })
    return { kind: 'read', own }
  } catch (error) {
    if (!(error instanceof InstallError)) throw error
    return { kind: 'fault', message: error.message }
  }
}
