import type { Client, InstallSystem, Scope } from './client.ts'
import { joinOn } from './client-path.ts'
import { InstallError } from './install-error.ts'

/**
 * The file that a client reads: of several places the first whose file is there, else the first. Throws
 * {@link InstallError} if the client has no such scope.
 */
export function clientFile(client: Client, scope: Scope, system: InstallSystem): string {
  if (scope === 'project') {
    if (client.projectFile === undefined) {
      throw new InstallError('usage', `${client.title} has no file for one project.`, 'Leave out --project.')
    }
    return joinOn(system, system.projectFolder, ...client.projectFile.split('/'))
  }
  const files = client.files(system)
  const [first = ''] = files
  return files.find((file) => system.exists(file)) ?? first
}
