import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding, FindingState } from '@drawbridge/shared/terminal/finding.ts'
import { describe, expect, it } from 'vitest'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { exitCodeOf } from './finding.ts'
import { type OwnFacts, ownChecks } from './own-check.ts'

const none = { flag: [], variable: [], file: [] }
const sound: OwnFacts = {
  nodeVersion: '22.13.0',
  problems: [],
  warnings: [],
  given: none,
  file: { path: '/x', mode: undefined },
  platform: 'linux',
}
const found = (facts: Partial<OwnFacts>): Finding[] => findingsOf(ownChecks, { ...sound, ...facts })
const warningsOf = (facts: Partial<OwnFacts>): string[] =>
  found(facts).flatMap(({ name, state }) => (state === 'ok' ? [] : [`${name} ${state}`]))

describe('doctor, on this computer', () => {
  it('doctor says where the configuration comes from', () => {
    expect(found({})[1]).toMatchObject({ state: 'ok', message: 'All defaults.' })
    const given = { ...none, flag: ['ca', 'proxy'], file: ['scope'] }
    expect(found({ given })[1]).toMatchObject({ message: 'By flag: ca, proxy; in config.json: scope.' })
  })

  it.each<[Partial<OwnFacts>, string[]]>([
    [{ nodeVersion: '20.19.0' }, ['node warn']],
    [{ nodeVersion: '26.10.0' }, []],
    [{ warnings: ['odd.'] }, ['configuration warn']],
    [{ problems: ['a.', 'b.'] }, ['configuration fail', 'configuration fail']],
    [{ file: { path: '/x', mode: 0o100600 } }, []],
    [{ file: { path: '/x', mode: 0o100640 } }, ['configuration warn']],
    [{ file: { path: '/x', mode: 0o100666 }, platform: 'win32' }, []],
  ])('doctor, for %j, reports %j', (facts, warnings) => {
    expect(warningsOf(facts)).toEqual(warnings)
  })
})

const { failed, signInNeeded, unreachable } = exitCode
const of = (state: FindingState, exit?: ExitCode): Finding => ({
  name: 'x',
  state,
  message: '',
  ...(exit !== undefined && { exit }),
})

it.each<[(ExitCode | undefined)[], number]>([
  [[], 0],
  [[signInNeeded], 3],
  [[signInNeeded, signInNeeded], 3],
  [[failed, signInNeeded], 1],
  [[undefined, signInNeeded], 1],
  [[unreachable, signInNeeded], 4],
  [[failed, unreachable], 4],
  [[undefined], 1],
])('the exit code of doctor for failures with the codes %j is %d', (exits, code) => {
  expect(exitCodeOf([of('ok'), of('warn'), ...exits.map((exit) => of('fail', exit))])).toBe(code)
})
