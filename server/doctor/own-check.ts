import { fail, type Finding, ok } from './finding.ts'

const oldestNode = [22, 13] as const

/** Whether this Node is new enough; the launcher has said so to those that are far too old. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestNode
  const isEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
  return isEnough
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is too old.`, `Install Node ${oldestNode.join('.')} or newer.`)
}

/** Where a setting came from. */
export type SettingSource = 'flag' | 'variable' | 'default'

/** Every fault of the configuration, or where its settings came from. `given` names those without a default by source. */
export function checkConfiguration(
  problems: readonly string[],
  given: Readonly<Record<'flag' | 'variable', readonly string[]>>,
): Finding[] {
  const name = 'configuration'
  if (problems.length > 0) {
    return problems.map((problem) =>
      fail(name, problem, 'Every setting: drawbridge-server serve --help, or docs/configuration.md'),
    )
  }
  const parts = (['flag', 'variable'] as const)
    .filter((source) => given[source].length > 0)
    .map((source) => `${given[source].join(', ')} (${source})`)
  const named =
    parts.length === 0 ? 'Every setting has its default.' : `${parts.join(', ')}; the rest has its default.`
  return [ok(name, named)]
}
