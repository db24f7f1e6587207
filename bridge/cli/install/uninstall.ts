import type { Client } from '../../install/client.ts'
import { clientFile, findClient } from '../../install/client-table.ts'
import { shownPath } from '../../install/config-file.ts'
import { InstallError } from '../../install/install-error.ts'
import { type UninstallPlan, planUninstall } from '../../install/plan-uninstall.ts'
import type { CommandInput } from '../command.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { shellWord } from '../failure/failure-text.ts'
import { type Agreement, type Outcome, backupText, withInstallFailure, writePlan } from './install-write.ts'
import { type InstallPlace, installPlace, installSystem } from './install-entry.ts'
import { asTyped } from '../terminal/program-name.ts'

export interface UninstallOptions extends Agreement {
  /** Undefined: the entry for the URL, or the only one. */
  name: string | undefined
  /** The file of the project in the current folder. */
  project: boolean
}

/** Removes an entry of ours from a client's file, never another one. Logins stay: `logout` removes them. */
export function uninstall(
  input: CommandInput,
  options: UninstallOptions,
  place: InstallPlace = installPlace(),
): Promise<ExitCode> {
  const { line, surroundings, terminal, json } = input
  return withInstallFailure(terminal, async () => {
    const { id, serverUrl } = operandsOf(line)
    const client = findClient(id)
    const path = clientFile(client, options.project ? 'project' : 'user', installSystem(surroundings, place))
    const within = options.project ? place.projectFolder : undefined
    const { launcher } = place
    const plan = planUninstall({ client, path, within, name: options.name, serverUrl, launcher })
    const { did, backup } = await writePlan(plan, options, input)
    if (json) {
      const facts = { ok: did !== 'declined', did, client: client.id, name: plan.name, file: path }
      terminal.print(JSON.stringify({ ...facts, backup: backup ?? null, diff: plan.diff }))
    } else for (const text of textsOf(client, plan, did, backup, options)) terminal.note(text)
    return did === 'declined' ? exitCode.failed : exitCode.ok
  })
}

function operandsOf({ operands, problems }: CommandInput['line']): {
  id: string
  serverUrl: string | undefined
} {
  const [id, serverUrl, ...more] = operands
  const tooMany = more.map((word) => `${word}: is one word too many.`)
  const [problem = 'The client is missing.'] = [...problems, ...tooMany]
  if (id !== undefined && problems.length + tooMany.length === 0) return { id, serverUrl }
  throw new InstallError('usage', problem, 'drawbridge uninstall <client> [url]')
}

function textsOf(
  client: Client,
  plan: UninstallPlan,
  did: Outcome['did'],
  backup: string | undefined,
  { project }: UninstallOptions,
): string[] {
  if (did !== 'removed') return [did === 'planned' ? 'Nothing is written: --dry-run.' : 'Nothing is written.']
  return [
    `${client.title} has lost the entry ${plan.name} of ${shownPath(plan.file)}.`,
    backupText(String(backup), project),
    asTyped(`The login is kept. To forget it: drawbridge logout ${loginOf(plan)}`),
  ]
}

function loginOf({ own: { serverUrl, profile } }: UninstallPlan): string {
  const url = serverUrl === undefined ? '<url>' : shellWord(serverUrl)
  return profile === undefined ? url : `${url} --profile ${shellWord(profile)}`
}
