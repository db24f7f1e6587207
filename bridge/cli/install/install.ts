import { shellWord } from '@drawbridge/shared/clients/add-command.ts'
import { type CommandInput, printResult } from '../command.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { type InstallPlace, entryToInstall, installPlace, installSystem } from './install-entry.ts'
import { clientFile, clients, findClient } from '../../install/client-table.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { checkServerName } from '../../install/install-error.ts'
import { planInstall, snippetOf, type Target } from '../../install/plan-install.ts'
import { planUninstall } from '../../install/plan-uninstall.ts'
import { definitionList } from '@drawbridge/shared/terminal/table.ts'
import { fill } from '../failure/failure-text.ts'
import { carryOut } from './install-write.ts'
import { asTyped } from '../terminal/program-name.ts'

/** Adds an entry that starts the bridge to a client, unless it is there already. Sends no request. */
export async function install(input: CommandInput, place: InstallPlace = installPlace()): Promise<ExitCode> {
  const { line, surroundings, terminal, options } = input
  const [id, ...operands] = line.operands
  if (id === undefined && line.problems.length === 0) return listClients(input)
  const client = findClient(id)
  const { serverUrl, launch, notes } = entryToInstall({ ...input, line: { ...line, operands } }, place)
  const name = options.name ?? serverNameOf(serverUrl)
  checkServerName(name)
  const scope = options.project ? 'project' : 'user'
  const system = installSystem(surroundings, place)
  if (options.print) {
    const entry = client.entry(launch)
    const path = clientFile(client, scope, system)
    const snippet = snippetOf(client, name, entry)
    for (const note of notes) terminal.note(asTyped(note))
    const facts = { ok: true, did: 'printed', client: client.id, name, file: path }
    printResult(input, { ...facts, command: null, backup: null, entry, snippet }, () => {
      terminal.note(`For ${path}:`)
      terminal.print(snippet)
    })
    return exitCode.ok
  }
  const target: Target = { client, scope, system }
  return carryOut(planInstall(target, name, launch), target, input, {
    notes: [
      ...notes,
      ...(options.project
        ? ['The entry has paths of this computer, which differ for others who get the file.']
        : []),
    ],
    nextSteps: [
      ...client.afterwards(name),
      // Every flag of the entry, as other flags may select another login.
      `The first use signs in. To do it now: drawbridge login ${launch.args.slice(1).map(shellWord).join(' ')}`,
    ],
  })
}

/** Removes an entry of ours from a client, never another one. Logins stay: `logout` removes them. */
export async function uninstall(
  input: CommandInput,
  place: InstallPlace = installPlace(),
): Promise<ExitCode> {
  const { line, surroundings, options } = input
  const [id, serverUrl, ...more] = line.operands
  const [problem] = [...line.problems, ...more.map((word) => `Unexpected argument: ${word}.`)]
  if (problem !== undefined) throw new ConfigError([problem], 'drawbridge uninstall <client> [url]')
  const client = findClient(id)
  const scope = options.project ? 'project' : 'user'
  const target: Target = { client, scope, system: installSystem(surroundings, place) }
  const plan = planUninstall(target, { name: options.name, serverUrl, launcher: place.launcher })
  return carryOut(plan, target, input, {
    notes: [],
    nextSteps: [fill('The login is kept. To remove it: drawbridge logout {url}', plan.own)],
  })
}

/** Lists the supported clients. */
function listClients(input: CommandInput): ExitCode {
  const known = clients.map(({ id, title }) => ({ id, title }))
  printResult(input, { ok: true, clients: known }, () => {
    input.terminal.print(definitionList(known.map(({ id, title }) => [id, title])))
    input.terminal.note(asTyped('drawbridge install <client> <url>'))
  })
  return exitCode.ok
}
