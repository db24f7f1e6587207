import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client, InstallSystem } from '../../../../bridge/install/client.ts'
import { clientFile } from '../../../../bridge/install/client-table.ts'
import { planInstall } from '../../../../bridge/install/plan-install.ts'
import type { Plan } from '../../../../bridge/install/plan.ts'

/** A home folder of its own, for one test. */
export interface InstallFixture {
  home: string
  system: InstallSystem
  /** The file of a client, as far as it is there; `content` makes it. */
  file(client: Client, content?: string): string
  plan(client: Client, options?: { launch?: Launch; name?: string }): Plan
  remove(): void
}

/** What a client is to start. */
export const launchSample: Launch = {
  command: '/opt/node/bin/node',
  args: ['/opt/mcp-drawbridge/launcher.cjs', 'https://app.example.com/mcp', '--profile', 'work'],
  env: {},
}

/** Makes the folder. Whoever makes it removes it. */
export function createInstallFixture(): InstallFixture {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-install-')))
  const system: InstallSystem = {
    platform: 'linux',
    home,
    environment: {},
    projectFolder: join(home, 'project'),
    list: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
    exists: existsSync,
  }
  const file: InstallFixture['file'] = (client, content) => {
    const path = clientFile(client, 'user', system)
    if (content !== undefined) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
    return path
  }
  return {
    home,
    system,
    file,
    plan: (client, { launch = launchSample, name = 'app' } = {}) =>
      planInstall({ client, path: file(client), name, launch }),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}
