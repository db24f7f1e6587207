import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { InstallSystem } from '../install/client.ts'
import { launcherPath, steadyNodePath } from '../install/program-path.ts'
import type { Surroundings } from '../config/config-reader.ts'

/** Where the bridge runs, and from where. */
export interface InstallPlace {
  node: string
  launcher: string
  projectFolder: string
  /** Folders that are emptied now and then. */
  temporaryFolders: readonly string[]
}

/** Where this process runs. */
export function installPlace(): InstallPlace {
  return {
    node: steadyNodePath(process.execPath),
    launcher: launcherPath(process.argv[1] ?? ''),
    projectFolder: process.cwd(),
    temporaryFolders: [tmpdir(), '/tmp', '/var/tmp', '/private/tmp', '/private/var/folders'],
  }
}

/** This computer, for looking up the files of clients. */
export function installSystem(surroundings: Surroundings, { projectFolder }: InstallPlace): InstallSystem {
  const { platform, homeFolder, environment } = surroundings
  return { platform, home: homeFolder, environment, projectFolder, list, exists: existsSync }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
