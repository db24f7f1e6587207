import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client, InstallSystem } from '../../../../bridge/install/client.ts'
import { clientFile } from '../../../../bridge/install/client-table.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { planInstall, type Plan } from '../../../../bridge/install/plan-install.ts'

/** A separate home folder for one test. */
export interface InstallFixture {
  home: string
  system: InstallSystem
  /** Returns the client's file if it exists; `content` creates it. */
  file(client: Client, content?: string): string
  plan(client: Client, options?: { launch?: Launch; name?: string }): Plan
}

/** The command for a client to start. */
export const launchSample: Launch = {
  command: '/opt/node/bin/node',
  args: ['/opt/mcp-drawbridge/launcher.cjs', 'https://app.example.com/mcp', '--profile', 'work'],
  env: {},
}

/** Creates the folder for one test. */
export function createInstallFixture(): InstallFixture {
  const home = temporaryFolder()
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
  }
}
