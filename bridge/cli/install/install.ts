import { installBridge } from '@drawbridge/shared/published.ts'
import { type CommandInput, printResult } from '../command.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { type InstallPlace, entryToInstall, installPlace, installSystem } from './install-entry.ts'
import { clientFile, clients, findClient } from '../../install/client-table.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { checkServerName } from '../../install/install-error.ts'
import { checkLasting, whyPassing } from '../../install/program-path.ts'
import { planInstall, snippetOf } from '../../install/plan-install.ts'
import { definitionList } from '@drawbridge/shared/terminal/table.ts'
import { shellWord } from '../failure/failure-text.ts'
import { carryOut, withInstallFailure } from './install-write.ts'
import { asTyped } from '../terminal/program-name.ts'

/** Writes an entry that starts the bridge into a client's file, unless it is there already. Sends no request. */
export function install(input: CommandInput, place: InstallPlace = installPlace()): Promise<ExitCode> {
  const { line, surroundings, terminal, options } = input
  return withInstallFailure(terminal, async () => {
    const [id, ...operands] = line.operands
    if (id === undefined && line.problems.length === 0) return listClients(input)
    const client = findClient(id)
    const { serverUrl, launch, notes } = entryToInstall({ ...input, line: { ...line, operands } }, place)
    const name = options.name ?? serverNameOf(serverUrl)
    checkServerName(name)
    const path = clientFile(client, options.project ? 'project' : 'user', installSystem(surroundings, place))
    const entry = client.entry(launch)
    if (options.print) {
      const snippet = snippetOf(client, name, entry)
      for (const note of [...notes, ...passingNotes(place)]) terminal.note(asTyped(note))
      const facts = {
        ok: true,
        did: 'printed',
        client: client.id,
        name,
        file: path,
        backup: null,
        diff: null,
      }
      printResult(input, { ...facts, entry, snippet }, () => {
        terminal.note(`For ${path}:`)
        terminal.print(snippet)
      })
      return exitCode.ok
    }
    if (!options.dryRun && !options.force) checkLasting([place.node, place.launcher], place.temporaryFolders)
    const within = options.project ? place.projectFolder : undefined
    const plan = planInstall({ client, path, within, name, launch })
    return carryOut(plan, input, {
      client,
      notes: [
        ...notes,
        ...plan.warnings,
        ...(options.dryRun ? passingNotes(place) : []),
        ...(options.project
          ? ['The paths in the entry are those of this computer: others who get the file have others.']
          : []),
      ],
      facts: { entry, snippet: null },
      nextSteps: [
        ...client.afterwards(name),
        // Every flag of the entry, as other flags may select another login.
        `The first use signs in. To do it now: drawbridge login ${launch.args.slice(1).map(shellWord).join(' ')}`,
      ],
    })
  })
}

/** Prints the clients that can be named. */
function listClients(input: CommandInput): ExitCode {
  const known = clients.map(({ id, title }) => ({ id, title }))
  printResult(input, { ok: true, clients: known }, () => {
    input.terminal.print(definitionList(known.map(({ id, title }) => [id, title])))
    input.terminal.note(asTyped('drawbridge install <client> <url>'))
  })
  return exitCode.ok
}

function passingNotes({ node, launcher, temporaryFolders }: InstallPlace): string[] {
  return [node, launcher].flatMap((path) => {
    const why = whyPassing(path, temporaryFolders)
    return why === undefined
      ? []
      : [`${path} is ${why}, and will not stay there. First install the bridge: ${installBridge}`]
  })
}
