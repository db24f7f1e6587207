import { installBridge } from '@drawbridge/shared/published.ts'
import { type ClientState, clientOverview } from '../../install/client-overview.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'
import type { CommandInput } from '../command.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import {
  type EntryToInstall,
  type InstallPlace,
  entryToInstall,
  installPlace,
  installSystem,
} from './install-entry.ts'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client } from '../../install/client.ts'
import { clientFile, clients, findClient } from '../../install/client-table.ts'
import { shownPath } from '../../install/config-file.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { InstallError, checkServerName } from '../../install/install-error.ts'
import { checkLasting, whyPassing } from '../../install/program-path.ts'
import { planInstall, snippetOf, type Plan } from '../../install/plan-install.ts'
import { shellWord } from '../failure/failure-text.ts'
import { type Agreement, type Outcome, backupText, withInstallFailure, writePlan } from './install-write.ts'
import { asTyped } from '../terminal/program-name.ts'

/** Prints every known client with the state of its file and our entries in it. */
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

export interface InstallOptions extends Agreement {
  /** Defaults to one made from the server's host. */
  name: string | undefined
  /** The file of the project in the current folder. */
  project: boolean
  /** Only show what to paste. */
  print: boolean
  /** Only show what there is. */
  list: boolean
}

/** Writes an entry that starts the bridge into a client's file, unless it is there already. Sends no request. */
export function install(
  input: CommandInput,
  options: InstallOptions,
  place: InstallPlace = installPlace(),
): Promise<ExitCode> {
  return withInstallFailure(input.terminal, async () => {
    if (options.list) return listClients(input, place)
    const [id, ...operands] = input.line.operands
    if (id === undefined) {
      const known = clients.map((client) => client.id).join(', ')
      throw new InstallError(
        'usage',
        'The client is missing.',
        `drawbridge install <client> <url>; clients are ${known}.`,
      )
    }
    const client = findClient(id)
    const rest = { ...input, line: { ...input.line, operands } }
    const entry = entryToInstall(rest, place)
    const name = options.name ?? serverNameOf(entry.serverUrl)
    checkServerName(name)
    const path = clientFile(
      client,
      options.project ? 'project' : 'user',
      installSystem(input.surroundings, place),
    )
    if (options.print) return print(input, client, path, name, entry, place)
    const isWritten = !options.dryRun
    if (isWritten && !options.force) checkLasting([place.node, place.launcher], place.temporaryFolders)
    const within = options.project ? place.projectFolder : undefined
    const plan = planInstall({ client, path, within, name, launch: entry.launch })
    const outcome = await writePlan(plan, options, input)
    const notes = notesOf(entry, plan, options, place)
    report(input, client, plan, { ...entry, notes }, outcome, options)
    return outcome.did === 'declined' ? exitCode.failed : exitCode.ok
  })
}

function print(
  { terminal, json }: CommandInput,
  client: Client,
  path: string,
  name: string,
  entry: EntryToInstall,
  place: InstallPlace,
): ExitCode {
  const snippet = snippetOf(client, name, client.entry(entry.launch))
  for (const note of [...entry.notes, ...passingNotes(entry, place)]) terminal.note(asTyped(note))
  if (json) {
    const facts = { ok: true, did: 'printed', client: client.id, name, file: path, backup: null, diff: null }
    terminal.print(JSON.stringify({ ...facts, entry: client.entry(entry.launch), snippet }))
  } else {
    terminal.note(`For ${path}:`)
    terminal.print(snippet)
  }
  return exitCode.ok
}

function notesOf(
  entry: EntryToInstall,
  { warning }: Plan,
  { dryRun, project }: InstallOptions,
  place: InstallPlace,
): string[] {
  return [
    ...entry.notes,
    ...(warning === undefined ? [] : [warning]),
    ...(dryRun ? passingNotes(entry, place) : []),
    ...(project
      ? ['The paths in the entry are those of this computer: others who get the file have others.']
      : []),
  ]
}

function passingNotes({ launch }: EntryToInstall, { temporaryFolders }: InstallPlace): string[] {
  return [launch.command, launch.args[0] ?? ''].flatMap((path) => {
    const why = whyPassing(path, temporaryFolders)
    return why === undefined
      ? []
      : [`${path} is ${why}, and will not stay there. First install the bridge: ${installBridge}`]
  })
}

function report(
  { terminal, json }: CommandInput,
  client: Client,
  { name, file, diff }: Plan,
  { launch, notes }: EntryToInstall,
  { did, backup }: Outcome,
  { project }: InstallOptions,
): void {
  for (const note of notes) terminal.note(asTyped(note))
  if (json) {
    const facts = { ok: did !== 'declined', did, client: client.id, name, file: file.path }
    terminal.print(
      JSON.stringify({ ...facts, backup: backup ?? null, diff, entry: client.entry(launch), snippet: null }),
    )
    return
  }
  if (did === 'planned') return terminal.note('Nothing is written: --dry-run.')
  if (did === 'declined') return terminal.note('Nothing is written.')
  if (did === 'unchanged')
    return terminal.note(`${client.title} has this entry already, as ${name} in ${shownPath(file)}.`)
  const kind = did === 'added' ? 'new entry' : did === 'updated' ? 'changed entry' : 'entry'
  const instead = did === 'replaced' ? ', in place of another' : ''
  terminal.note(`${client.title} has the ${kind} ${name} in ${shownPath(file)}${instead}.`)
  if (backup !== undefined) terminal.note(backupText(backup, project))
  for (const line of client.afterwards(name)) terminal.note(asTyped(line))
  terminal.note(asTyped(`The first use signs in. To do it now: drawbridge login ${loginWords(launch)}`))
}

/** Returns the URL and every flag of the entry, as other flags may select another login. */
function loginWords({ args }: Launch): string {
  return args.slice(1).map(shellWord).join(' ')
}
