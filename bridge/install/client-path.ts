import { posix, win32 } from 'node:path'
import type { InstallSystem } from './client.ts'

/** Joins as the platform of `system` does. */
export function joinOn(system: InstallSystem, ...parts: string[]): string {
  return (system.platform === 'win32' ? win32 : posix).join(...parts)
}

/** A path below the home folder. */
export function inHome(system: InstallSystem, ...parts: string[]): string {
  return joinOn(system, system.home, ...parts)
}

/** A path below the folder in which desktop programs keep their settings, as Electron finds it. */
export function inApplicationData(system: InstallSystem, ...parts: string[]): string {
  if (system.platform === 'win32') return joinOn(system, roaming(system), ...parts)
  if (system.platform === 'darwin') return inHome(system, 'Library', 'Application Support', ...parts)
  return inXdgConfig(system, ...parts)
}

/** A path below `$XDG_CONFIG_HOME`, else `~/.config`. */
export function inXdgConfig(system: InstallSystem, ...parts: string[]): string {
  const folder = system.environment['XDG_CONFIG_HOME']
  return folder ? joinOn(system, folder, ...parts) : inHome(system, '.config', ...parts)
}

/** A path below the folder that a variable names, else below `otherwise` of the home folder. */
export function inFolderOf(
  system: InstallSystem,
  variable: string,
  otherwise: readonly string[],
  ...parts: string[]
): string {
  const folder = system.environment[variable]
  return folder ? joinOn(system, folder, ...parts) : inHome(system, ...otherwise, ...parts)
}

/** `%LOCALAPPDATA%` of Windows. */
export function localApplicationData(system: InstallSystem): string {
  return system.environment['LOCALAPPDATA'] ?? inHome(system, 'AppData', 'Local')
}

function roaming(system: InstallSystem): string {
  return system.environment['APPDATA'] ?? inHome(system, 'AppData', 'Roaming')
}
