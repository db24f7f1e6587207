import { findClient } from '../../install/client-table.ts'
import { InstallError } from '../../install/install-error.ts'
import { planUninstall } from '../../install/plan-uninstall.ts'
import type { Target } from '../../install/plan-install.ts'
import type { CommandInput } from '../command.ts'
import type { ExitCode } from '../failure/failure-table.ts'
import { fill } from '../failure/failure-text.ts'
import { type InstallPlace, installPlace, installSystem } from './install-entry.ts'
import { carryOut, withInstallFailure } from './install-write.ts'

/** Removes an entry of ours from a client, never another one. Logins stay: `logout` removes them. */
export function uninstall(input: CommandInput, place: InstallPlace = installPlace()): Promise<ExitCode> {
  const { line, surroundings, terminal, options } = input
  return withInstallFailure(terminal, async () => {
    const [id, serverUrl, ...more] = line.operands
    const [problem] = [...line.problems, ...more.map((word) => `Unexpected argument: ${word}.`)]
    if (problem !== undefined) throw new InstallError('usage', problem, 'drawbridge uninstall <client> [url]')
    const client = findClient(id)
    const scope = options.project ? 'project' : 'user'
    const target: Target = { client, scope, system: installSystem(surroundings, place) }
    const plan = planUninstall(target, { name: options.name, serverUrl, launcher: place.launcher })
    return carryOut(plan, target, input, {
      notes: [],
      nextSteps: [fill('The login is kept. To remove it: drawbridge logout {url}', plan.own)],
    })
  })
}
