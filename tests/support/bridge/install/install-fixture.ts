import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { Client, InstallSystem, Scope } from '../../../../bridge/install/client.ts'
import { clientFile } from '../../../../bridge/install/client-table.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { applyPlan } from '../../../../bridge/install/apply-plan.ts'
import { planInstall, type Plan, type Target } from '../../../../bridge/install/plan-install.ts'

/** A separate home folder for one test. */
export interface InstallFixture {
  home: string
  target(client: Client, scope?: Scope): Target
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
    run: () => undefined,
  }
  const file: InstallFixture['file'] = (client, content) => {
    const path = clientFile(client, 'user', system)
    if (content !== undefined) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
    return path
  }
  const target: InstallFixture['target'] = (client, scope = 'user') => ({ client, scope, system })
  return {
    home,
    target,
    file,
    plan: (client, { launch = launchSample, name = 'app' } = {}) => planInstall(target(client), name, launch),
  }
}

/** Writes what a plan says into the client's file, and returns the path of the backup. */
export function writePlan(plan: Plan): string | undefined {
  if (typeof plan.write === 'string') throw new Error(`The file is left alone: ${plan.write}`)
  return applyPlan(plan, plan.write(plan.name, plan.entry))
}
