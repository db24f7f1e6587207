import { type ClientState, clientOverview } from '../install/client-overview.ts'
import { textTable } from './terminal/table.ts'
import type { CommandInput } from './command.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { type InstallPlace, installSystem } from './install-place.ts'

/** Prints every client that is known, whether its file is there, and our entries in it. */
export function listClients({ surroundings, terminal, json }: CommandInput, place: InstallPlace): ExitCode {
  const states = clientOverview(installSystem(surroundings, place), place.launcher)
  if (json) terminal.print(JSON.stringify({ ok: true, clients: states.map(factsOf) }))
  else {
    const rows = states.map(({ client, path, state }) => [client.id, client.title, textOf(state), path])
    terminal.print(textTable(['client', 'name', 'state', 'file'], rows))
  }
  return exitCode.ok
}

function textOf(state: ClientState['state']): string {
  if (state.kind === 'absent') return 'no file'
  if (state.kind === 'fault') return 'cannot be read'
  if (state.own.length === 0) return 'no entry of ours'
  return state.own.map(({ name, serverUrl }) => (serverUrl ? `${name} -> ${serverUrl}` : name)).join(', ')
}

function factsOf({ client, path, state }: ClientState): Record<string, unknown> {
  return {
    client: client.id,
    title: client.title,
    file: path,
    exists: state.kind !== 'absent',
    fault: state.kind === 'fault' ? state.message : null,
    entries:
      state.kind === 'read'
        ? state.own.map(({ name, serverUrl }) => ({ name, server: serverUrl ?? null }))
        : [],
  }
}
