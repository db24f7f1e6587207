import { clientFile, findClient } from '../../install/client-table.ts'
import { InstallError } from '../../install/install-error.ts'
import { planUninstall } from '../../install/plan-uninstall.ts'
import type { CommandInput } from '../command.ts'
import type { ExitCode } from '../failure/failure-table.ts'
import { fill } from '../failure/failure-text.ts'
import { type InstallPlace, installPlace, installSystem } from './install-entry.ts'
import { carryOut, withInstallFailure } from './install-write.ts'

/** Removes an entry of ours from a client's file, never another one. Logins stay: `logout` removes them. */
export function uninstall(input: CommandInput, place: InstallPlace = installPlace()): Promise<ExitCode> {
  const { line, surroundings, terminal, options } = input
  return withInstallFailure(terminal, async () => {
    const [id, serverUrl, ...more] = line.operands
    const [problem] = [...line.problems, ...more.map((word) => `${word}: is one word too many.`)]
    if (problem !== undefined) throw new InstallError('usage', problem, 'drawbridge uninstall <client> [url]')
    const client = findClient(id)
    const path = clientFile(client, options.project ? 'project' : 'user', installSystem(surroundings, place))
    const within = options.project ? place.projectFolder : undefined
    const { launcher } = place
    const plan = planUninstall({ client, path, within, name: options.name, serverUrl, launcher })
    return carryOut(plan, input, {
      client,
      notes: [],
      nextSteps: [fill('The login is kept. To forget it: drawbridge logout {url}', plan.own)],
    })
  })
}
