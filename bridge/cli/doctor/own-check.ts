import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { namesByOrigin, type Surroundings } from '../../config/config-reader.ts'
import { asTyped } from '../terminal/program-name.ts'

/** Facts about this side, known before any request. */
export interface OwnFacts {
  nodeVersion: string
  problems: readonly string[]
  warnings: readonly string[]
  given: ReturnType<typeof namesByOrigin>
  /** `mode` is undefined if the file does not exist. */
  file: { path: string; mode: number | undefined }
  platform: Surroundings['platform']
}

export const ownChecks: Checks<OwnFacts> = {
  node({ nodeVersion }) {
    // The launcher refuses unsupported versions.
    if (Number.parseInt(nodeVersion, 10) >= 22) return ok(`Node ${nodeVersion}.`)
    return warn(`Node ${nodeVersion} works, but starts slower than later ones.`, 'Use Node 22 or newer.')
  },
  configuration: ({ problems, warnings, given, file, platform }) => [
    ...(problems.length === 0
      ? [ok(givenText(given)), ...warnings.map((warning) => warn(warning))]
      : problems.map((problem) => fail(asTyped(problem), 'Every flag: drawbridge doctor --help'))),
    platform !== 'win32' && file.mode !== undefined && (file.mode & 0o077) !== 0
      ? warn(`${file.path} can be read by others, and may hold secrets.`, `chmod 600 ${file.path}`)
      : undefined,
  ],
}

/** Says which settings were given and where, never their values. */
function givenText({ flag, variable, file }: OwnFacts['given']): string {
  const parts = [
    ['by flag', flag] as const,
    ['by variable', variable] as const,
    ['in config.json', file] as const,
  ].flatMap(([where, names]) => (names.length === 0 ? [] : `${where}: ${names.join(', ')}`))
  const text = parts.length === 0 ? 'all defaults.' : `${parts.join('; ')}.`
  return text.charAt(0).toUpperCase() + text.slice(1)
}
